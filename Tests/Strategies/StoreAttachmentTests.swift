import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging
import Testing
import TestSupport

@Suite("Attaching and detaching stores")
struct StoreAttachmentTests {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>
  private let directory = TemporaryDirectory()
  private let registry: StoreRegistry

  init() throws {
    registry = StoreRegistry()
    try registry.register(.sqlite)
    try registry.register(.inMemory)
  }

  private func makeContainer(_ model: ManagedObjectModel = ContainerModels.users) -> Container {
    Container(name: "Stores", managedObjectModel: model, storeLocation: directory.url, registry: registry)
  }

  @Test func `attaching without arguments creates the default file at once`() throws {
    let container = makeContainer()
    #expect(!FileManager.default.fileExists(atPath: directory.url.path))
    try container.attachPersistentStore()
    #expect(directory.has("Stores.sqlite"))
  }

  @Test func `attaching several stores without arguments creates the default file at once`() throws {
    let container = makeContainer()
    #expect(try container.attachPersistentStores().count == 1)
    #expect(directory.has("Stores.sqlite"))
  }

  @Test func `a container shows the migration of the store that it would attach`() throws {
    let earlier = try ManagedObjectModel { Entity("Note") { Attribute("text", .string) } }
    let later = try ManagedObjectModel {
      Entity("Note") {
        Attribute("text", .string)
        Attribute("title", .string, optional: true)
      }
    }
    let container = makeContainer(earlier)
    #expect(try container.migrationPreview() == nil)
    #expect(!FileManager.default.fileExists(atPath: directory.url.path))
    try container.attachPersistentStore()
    #expect(try container.migrationPreview()?.isEmpty == true)
    let found = try makeContainer(later).migrationPreview()
    #expect(found?.statements.contains { $0.contains("title") } == true)
    let error = #expect(throws: CoherenceError.self) {
      try container.migrationPreview(for: StoreConfiguration(type: .inMemory))
    }
    #expect(error?.code == .unsupported)
  }

  @Test func `an empty list of configurations means the default store`() throws {
    let container = makeContainer()
    #expect(try container.attachPersistentStores(for: []).count == 1)
    #expect(directory.has("Stores.sqlite"))
  }

  @Test func `a store is created in the given directory`() throws {
    let container = makeContainer()
    let elsewhere = directory.url.appendingPathComponent("a/b", isDirectory: true)
    try container.attachPersistentStore(at: elsewhere)
    #expect(directory.has("a/b/Stores.sqlite"))
    try container.attachPersistentStore(for: StoreConfiguration(fileName: "Named.sqlite"))
    #expect(directory.has("Named.sqlite"))
  }

  @Test func `each configuration creates a file, except for in-memory stores`() throws {
    let container = makeContainer(ContainerModels.configured)
    try container.attachPersistentStores(for: [
      StoreConfiguration(fileName: "Transient.sqlite", name: "TransientEntities", type: .inMemory),
      StoreConfiguration(fileName: "Persistent.sqlite", name: "PersistentEntities"),
    ])
    #expect(!directory.has("Transient.sqlite"))
    #expect(directory.has("Persistent.sqlite"))

    let context = container.newBackgroundContext()
    try context.performAndWait {
      _ = try ContainerUser.insert(named: "ada", into: context)
      try context.insertNewObject(forEntityName: "ContainerRole").setValue("admin", for: "name")
      try context.save()
      #expect(try context.count(for: FetchRequest(ContainerUser.self)) == 1)
      #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "ContainerRole")) == 1)
    }
  }

  @Test func `two configurations create two files`() throws {
    let container = makeContainer(ContainerModels.configured)
    try container.attachPersistentStores(for: [
      StoreConfiguration(name: "TransientEntities"), StoreConfiguration(name: "PersistentEntities"),
    ])
    #expect(directory.has("Stores.transiententities.sqlite"))
    #expect(directory.has("Stores.persistententities.sqlite"))
  }

  @Test func `a store without a configuration name holds the entities of all configurations`() throws {
    let container = makeContainer(ContainerModels.configured)
    try container.attachPersistentStores()
    #expect(directory.names.filter { $0.hasSuffix(".sqlite") } == ["Stores.sqlite"])
  }

  @Test func `a configuration that the model does not know attaches a store without entities`() throws {
    let container = makeContainer()
    let store = try container.attachPersistentStore(for: StoreConfiguration(name: "Unknown"))
    #expect(store.environment.entities.isEmpty)
    #expect(directory.has("Stores.unknown.sqlite"))
    try container.detach(persistentStore: store)
  }

  @Test func `an unknown configuration causes one warning`() throws {
    let log = MessageLog()
    let container = Container(
      name: "Stores", managedObjectModel: ContainerModels.users, storeLocation: directory.url, logger: log.logger)
    try container.attachPersistentStore(for: StoreConfiguration(name: "Unknown", type: .inMemory))
    #expect(log.texts(.warning).count { $0.contains("Unknown") } == 1)
  }

  @Test func `the texts about an unknown configuration name the configurations of the model`() throws {
    let log = MessageLog()
    let model = try ManagedObjectModel(configurations: ["Library": ["Book"]]) {
      Entity("Book") { Attribute("title", .string) }
    }
    let container = Container(
      name: "Stores", managedObjectModel: model, storeLocation: directory.url, logger: log.logger)
    try container.attachPersistentStore(for: StoreConfiguration(name: "Shelf", type: .inMemory))
    #expect(log.texts(.warning).contains { $0.contains("'Shelf'") && $0.contains("'Library'") })
    let context = container.newBackgroundContext()
    #expect {
      try context.performAndWait { try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) }
    } throws: { error in
      ErrorCode.noStore ~= error && (error as? CoherenceError)?.message.contains("'Library'") == true
    }
  }

  @Test func `a detached store is removed from the coordinator`() throws {
    let container = makeContainer()
    let store = try container.attachPersistentStore()
    #expect(container.persistentStoreCoordinator.persistentStores.contains { $0 === store })
    try container.detach(persistentStore: store)
    #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
    #expect { try container.detach(persistentStore: store) } throws: { ErrorCode.storeDetached ~= $0 }
  }

  @Test func `a detach of several stores detaches all or none`() throws {
    let container = makeContainer()
    let first = try container.attachPersistentStore(for: StoreConfiguration(fileName: "1.sqlite"))
    let second = try container.attachPersistentStore(for: StoreConfiguration(fileName: "2.sqlite"))
    try container.detach(persistentStore: second)
    #expect(throws: CoherenceError.self) { try container.detach(persistentStores: [first, second]) }
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    try container.detach(persistentStores: [first])
    #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `a store that a detach of several stores names twice is detached once`() throws {
    let container = makeContainer()
    let first = try container.attachPersistentStore(for: StoreConfiguration(fileName: "1.sqlite"))
    let second = try container.attachPersistentStore(for: StoreConfiguration(fileName: "2.sqlite"))
    try container.detach(persistentStores: [first, second, first])
    #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `an attach of several stores attaches all or none`() throws {
    let container = makeContainer()
    let before = try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try Data("this is no database, and long enough to be looked at as one".utf8)
      .write(
        to: {
          try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
          return directory.file("Bad.sqlite")
        }())
    #expect(throws: CoherenceError.self) {
      try container.attachPersistentStores(for: [
        StoreConfiguration(fileName: "Good.sqlite"), StoreConfiguration(fileName: "Better.sqlite"),
        StoreConfiguration(fileName: "Bad.sqlite"),
      ])
    }
    let stores = container.persistentStoreCoordinator.persistentStores
    #expect(stores.count == 1 && stores[0] === before)
  }

  @Test func `the error of an unknown store type names the type`() {
    let container = Container(
      name: "Stores", managedObjectModel: ContainerModels.users, storeLocation: directory.url,
      registry: StoreRegistry())
    #expect { try container.attachPersistentStore(for: StoreConfiguration(type: "Paper")) } throws: {
      ErrorCode.unknownStoreType ~= $0 && "\($0)".contains("Paper")
    }
  }

  @Test func `the error of an impossible directory names the directory`() throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try Data().write(to: directory.file("file"))
    let container = makeContainer()
    let blocked = directory.file("file").appendingPathComponent("below", isDirectory: true)
    #expect { try container.attachPersistentStore(at: blocked) } throws: {
      ErrorCode.storeInaccessible ~= $0 && "\($0)".contains(blocked.path)
    }
  }
}
