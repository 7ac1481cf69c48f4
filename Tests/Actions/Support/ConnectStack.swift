import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import TestSupport

typealias TestConnect = GenericConnect<ContextStrategy.Mixed>

/// A Connect with a directory and a registry of its own.
struct ConnectStack {
  let directory = TemporaryDirectory()
  let connect: TestConnect

  init(_ model: ManagedObjectModel = ConnectModels.main, options: ConnectOptions = ConnectOptions()) throws {
    let registry = StoreRegistry()
    try registry.register(.sqlite)
    try registry.register(.inMemory)
    connect = TestConnect(
      name: "Connect", managedObjectModel: model, storeLocation: directory.url, registry: registry,
      options: options)
  }

  /// A started Connect with one store in memory.
  static func started(
    _ model: ManagedObjectModel = ConnectModels.main, options: ConnectOptions = ConnectOptions()
  ) throws -> ConnectStack {
    let stack = try ConnectStack(model, options: options)
    try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try stack.connect.start()
    return stack
  }

  func entity(_ name: String) throws -> EntityDescription { try connect.managedObjectModel.entity(named: name) }

  /// Runs a block in a context of actions.
  func inActionContext<T>(_ body: (ActionContext) throws -> T) throws -> T {
    let context = connect.newActionContext()
    return try context.performAndWait { try body(context) }
  }

  /// Reads in a new context.
  func read<T>(_ body: (BackgroundContext) throws -> T) throws -> T {
    let context = connect.newBackgroundContext()
    return try context.performAndWait { try body(context) }
  }

  /// The texts of the records of `ConnectEntity1` by id.
  func strings() throws -> [Int64: String] {
    try read { context in
      let objects = try context.fetch(FetchRequest(ConnectEntity1.self))
      return Dictionary(objects.map { ($0.id, $0.string) }, uniquingKeysWith: { first, _ in first })
    }
  }
}
