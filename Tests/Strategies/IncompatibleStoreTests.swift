import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@Suite("Stores that do not fit the model")
struct IncompatibleStoreTests {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>
  private let directory = TemporaryDirectory()
  private let overwriting = StoreConfiguration(type: .sqlite, overwriteIncompatibleStore: true)

  private func makeContainer(_ model: ManagedObjectModel) -> Container {
    Container(name: "Stores", managedObjectModel: model, storeLocation: directory.url)
  }

  /// Makes a store with a user in it and returns the store's identifier.
  private func makeStore(_ model: ManagedObjectModel) throws -> StoreIdentifier {
    let container = makeContainer(model)
    let store = try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    let context = container.newBackgroundContext()
    try context.performAndWait {
      _ = try ContainerUser.insert(named: "ada", into: context)
      try context.save()
    }
    return store.identifier
  }

  @Test func `overwriting wins over migration and moves the old file aside`() throws {
    let old = try makeStore(ContainerModels.users)
    let container = makeContainer(ContainerModels.usersAndRoles)
    let store = try container.attachPersistentStore(for: overwriting)
    #expect(store.identifier != old)
    let context = container.newBackgroundContext()
    let count = try context.performAndWait { try context.count(for: FetchRequest(ContainerUser.self)) }
    #expect(count == 0)
    #expect(directory.names.contains { $0 != "Stores.sqlite" && $0.hasSuffix(".incompatible") })
  }

  @Test func `a compatible store is not overwritten`() throws {
    let old = try makeStore(ContainerModels.users)
    #expect(try makeContainer(ContainerModels.users).attachPersistentStore(for: overwriting).identifier == old)
  }

  @Test func `a configuration with a part of a hierarchy is compatible with its own store`() throws {
    let model = try ManagedObjectModel(configurations: ["Part": ["Child"]]) {
      Entity("Parent") { Attribute("name", .string, optional: true) }
      Entity("Child", parent: "Parent") { Attribute("age", .int64, optional: true) }
    }
    let configuration = StoreConfiguration(name: "Part", type: .sqlite, overwriteIncompatibleStore: true)
    let first = try makeContainer(model).attachPersistentStore(for: configuration).identifier
    #expect(try makeContainer(model).attachPersistentStore(for: configuration).identifier == first)
  }

  @Test func `a file without a database is moved aside when overwriting, and refused otherwise`() throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    let garbage = Data("this is no database, and long enough to be looked at as one".utf8)
    try garbage.write(to: directory.file("Stores.sqlite"))
    let container = makeContainer(ContainerModels.users)
    #expect { try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite)) } throws: {
      ErrorCode.notADatabase ~= $0
    }
    try container.attachPersistentStore(for: overwriting)
    let aside = try #require(directory.names.first { $0.hasSuffix(".incompatible") })
    #expect(try Data(contentsOf: directory.file(aside)) == garbage)
  }

  @Test func `without migration and overwriting an incompatible store is refused and unchanged`() throws {
    let old = try makeStore(ContainerModels.users)
    let configuration = StoreConfiguration(type: .sqlite, options: [StoreOption.migrateAutomatically: false])
    #expect { try makeContainer(ContainerModels.usersAndRoles).attachPersistentStore(for: configuration) } throws: {
      ErrorCode.incompatibleModel ~= $0
    }
    let container = makeContainer(ContainerModels.users)
    #expect(try container.attachPersistentStore(for: configuration).identifier == old)
  }
}
