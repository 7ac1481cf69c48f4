import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging
import Testing
import TestSupport

@Suite("Models that a store has met")
struct ModelHistoryTests {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>
  private let directory = TemporaryDirectory()
  private let log = MessageLog()

  private func attach(
    _ model: ManagedObjectModel, _ configuration: StoreConfiguration = StoreConfiguration(type: .sqlite)
  )
    throws -> any PersistentStore
  {
    let container = Container(
      name: "Stores", managedObjectModel: model, storeLocation: directory.url, logger: log.logger)
    let store = try container.attachPersistentStore(for: configuration)
    try container.detach(persistentStore: store)
    return store
  }

  @Test func `an older model opens a newer store, with one warning in the log`() throws {
    _ = try attach(ContainerModels.users)
    _ = try attach(ContainerModels.usersAndRoles)
    #expect(log.texts(.warning).isEmpty)
    for _ in 0..<2 { _ = try attach(ContainerModels.users) }
    let warnings = log.texts(.warning).filter { $0.contains("older than the store") }
    #expect(warnings.count == 1)
    #expect(warnings.first?.contains(try #require(ContainerModels.usersAndRoles.name)) == true)
    #expect(warnings.first?.contains("ContainerRole") == true)
  }

  @Test func `an unknown model that may be older keeps constraints, with one warning in the log`() throws {
    func model(_ uniqueness: [[String]], _ names: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: "Things") {
        Entity("Thing", uniqueness: uniqueness) {
          for name in names { Attribute(name, .string, optional: true) }
        }
      }
    }
    _ = try attach(model([["code"]], ["code", "note"]))
    for _ in 0..<2 { _ = try attach(model([], ["code"])) }
    let warnings = log.texts(.warning)
    #expect(warnings.count == 1)
    #expect(warnings.first?.contains("Thing.code.unique") == true)
  }

  @Test func `the log names dropped data and the location of the copy`() throws {
    func model(_ type: AttributeType) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: "Things") { Entity("Thing") { Attribute("size", type, optional: true) } }
    }
    let container = Container(name: "Stores", managedObjectModel: try model(.int32), storeLocation: directory.url)
    let store = try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    let context = container.newBackgroundContext()
    try context.performAndWait {
      try context.insertNewObject(forEntityName: "Thing").setValue(7, for: "size")
      try context.save()
    }
    try container.detach(persistentStore: store)
    let lossy = StoreConfiguration(type: .sqlite, options: [StoreOption.allowsDataLoss: true])
    _ = try attach(try model(.string), lossy)
    let warning = try #require(log.texts(.warning).first { $0.contains(StoreOption.allowsDataLoss) })
    let copy = try #require(directory.names.first { $0.hasSuffix(".backup") })
    #expect(warning.contains("Thing.size") && warning.contains("1 value") && warning.contains(copy))
  }

  @Test func `a store is not set aside for a model that it knows`() throws {
    let first = try attach(ContainerModels.users).identifier
    _ = try attach(ContainerModels.usersAndRoles)
    let overwriting = StoreConfiguration(type: .sqlite, overwriteIncompatibleStore: true)
    #expect(try attach(ContainerModels.users, overwriting).identifier == first)
    #expect(try attach(ContainerModels.usersAndRoles, overwriting).identifier == first)
  }
}
