import Coherence
import Foundation

// The ways to start a Connect, written for Swift 6: `any` is spelled out, throwing calls are marked with `try`, and
// store types have names of their own.

/// No configuration required.
func startWithoutConfiguration() throws -> any Connect {
  let connect: any Connect = try GenericConnect<ContextStrategy.Mixed>(name: "MyModelName")

  try connect.start()
  return connect
}

/// Custom configuration required.
func startWithConfigurations() throws -> any Connect {
  let connect: any Connect = try GenericConnect<ContextStrategy.Mixed>(name: "MyModelName")

  try connect.attachPersistentStores(for: [
    StoreConfiguration(name: "TransientData", type: .inMemory),
    StoreConfiguration(name: "PersistentData", type: .sqlite),
  ])
  try connect.start()
  return connect
}

/// User per configuration.
func startForUser() throws -> any Connect {
  let connect: any Connect = try GenericConnect<ContextStrategy.Mixed>(name: "MyModelName")

  let userName = loggedInUserName() /* Determine user that is logged */

  try connect.attachPersistentStores(
    at: URL(fileURLWithPath: "\(persistentStores)/\(userName)"),
    for: [
      StoreConfiguration(name: "TransientData", type: .inMemory),
      StoreConfiguration(name: "PersistentData", type: .sqlite),
    ])

  try connect.start()
  return connect
}

/// Global store, user per configuration.
func startForUserBesideGlobalStore() throws -> any Connect {
  let connect: any Connect = try GenericConnect<ContextStrategy.Mixed>(name: "MyModelName")

  try connect.attachPersistentStore(
    at: URL(fileURLWithPath: "\(persistentStores)/global"), for: StoreConfiguration(name: "GlobalData", type: .sqlite))

  let userName = loggedInUserName() /* Determine user that is logged */

  try connect.attachPersistentStores(
    at: URL(fileURLWithPath: "\(persistentStores)/\(userName)"),
    for: [
      StoreConfiguration(name: "TransientData", type: .inMemory),
      StoreConfiguration(name: "PersistentData", type: .sqlite),
    ])

  try connect.start()
  return connect
}

/// The place of initialization and start: a delegate of the application retains the Connect.
final class AppDelegate {
  let connect: any Connect

  init() throws { connect = try GenericConnect<ContextStrategy.Mixed>(name: "ModelName") }

  func applicationDidFinishLaunching() -> Bool {
    do {
      try self.connect.start()

    } catch {
      fatalError("\(error)")
    }
    return true
  }
}

private func loggedInUserName() -> String { "ada" }

/// The place that the scenarios with a place of their own keep stores in.
private var persistentStores: String {
  GenericConnect<ContextStrategy.Mixed>.defaultStoreLocation().appendingPathComponent("users").path
}
