import Coherence
import CoherenceModelMacros
import Foundation
import Testing

@Suite("The article about stores")
struct StoresGuideTests {
  @Entity final class Book: ManagedObject {
    @Attribute(formerNames: ["name"]) var title: String
    var pages: Int32 = 0
  }

  @Entity final class Search: ManagedObject {
    var text: String
  }

  @Entity final class Address: ManagedObject {
    // Was an Int32.
    @Attribute(converting: { old in if case .int(let zip) = old { .string(String(zip)) } else { .null } })
    var zip: String?
  }

  /// The stores of a program in which one user after the other signs in.
  @MainActor final class Session {
    let container: GenericPersistentContainer<ContextStrategy.Mixed>
    private var userStore: (any PersistentStore)?

    init(in directory: URL) throws {
      let model = try ManagedObjectModel(
        Book.self, Search.self, configurations: ["User": [Book.self], "Device": [Search.self]])
      container = GenericPersistentContainer(name: "Reader", managedObjectModel: model, storeLocation: directory)
      try container.attachPersistentStore(for: StoreConfiguration(name: "Device", type: .sqlite))
    }

    func signIn(_ user: UUID) throws {
      try signOut()
      userStore = try container.attachPersistentStore(
        for: StoreConfiguration(fileName: "\(user).sqlite", name: "User", type: .sqlite))
    }

    func signOut() throws {
      guard let store = userStore else { return }
      container.mainContext.reset()
      try container.detach(persistentStore: store)
      userStore = nil
    }
  }

  private typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>

  /// Runs a block with a temporary directory.
  private func withDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
  }

  @Test func `a store is attached with options and described by its metadata`() async throws {
    try await withDirectory { directory in
      let container = GenericPersistentContainer<ContextStrategy.Mixed>(
        name: "Catalogue", managedObjectModel: try Catalogue.model(), storeLocation: directory)
      let store = try container.attachPersistentStore(
        for: StoreConfiguration(type: .sqlite, options: [SQLiteOption.busyTimeout: 5]))
      let metadata = try store.metadata()
      print(metadata.type, metadata.models.count)  // SQLite 1
      try container.detach(persistentStore: store)
      #expect(metadata.type == "SQLite")
      #expect(FileManager.default.fileExists(atPath: directory.appendingPathComponent("Catalogue.sqlite").path))
    }
  }

  @Test func `configurations of the model decide about the store of an entity`() async throws {
    try await withDirectory { directory in
      let model = try ManagedObjectModel(
        Book.self, Search.self, configurations: ["Library": [Book.self], "Session": [Search.self]])
      let container = GenericPersistentContainer<ContextStrategy.Mixed>(
        name: "Reader", managedObjectModel: model, storeLocation: directory)
      let stores = try container.attachPersistentStores(for: [
        StoreConfiguration(name: "Library", type: .sqlite), StoreConfiguration(name: "Session", type: .inMemory),
      ])
      #expect(stores.map(\.type) == [.sqlite, .inMemory])
      try container.detach(persistentStores: stores)
    }
  }

  @MainActor @Test func `each user has a store of the same entities`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (ada, bea) = (UUID(), UUID())
    let session = try Session(in: directory)
    let view = session.container.mainContext
    try session.signIn(ada)
    try Book(context: view).title = "Lavinia"
    try view.save()
    try Book(context: view).title = "Draft"
    try session.signIn(bea)
    #expect(try view.count(for: FetchRequest(Book.self)) == 0)
    try session.signOut()
    #expect { try view.count(for: FetchRequest(Book.self)) } throws: { ErrorCode.noStore ~= $0 }
    #expect(try view.count(for: FetchRequest(Search.self)) == 0)
    try session.signIn(ada)
    #expect(try view.fetch(FetchRequest(Book.self)).map(\.title) == ["Lavinia"])
  }

  @Test func `an erased store has no records`() async throws {
    try await withDirectory { directory in
      let container = Container(
        name: "Reader", managedObjectModel: try ManagedObjectModel(Book.self), storeLocation: directory)
      let store = try container.attachPersistentStore()
      try await container.performBackgroundTask { context in
        try Book(context: context).title = "Lavinia"
        try context.save()
      }
      let factory = try container.persistentStoreCoordinator.factory(for: store.type)
      try container.detach(persistentStore: store)
      try (factory as? any StoreErasing)?.erase(store.environment)
      try container.attachPersistentStore()
      let count = try await container.performBackgroundTask { try $0.count(for: FetchRequest(Book.self)) }
      #expect(count == 0)
    }
  }

  @Test func `a renamed attribute keeps its values`() async throws {
    try await withDirectory { directory in
      let old = try ManagedObjectModel { Entity("Book") { Attribute("name", .string) } }
      let writer = Container(name: "Reader", managedObjectModel: old, storeLocation: directory)
      let written = try writer.attachPersistentStore()
      try await writer.performBackgroundTask { context in
        try context.insertNewObject(forEntityName: "Book").setValue("Lavinia", for: "name")
        try context.save()
      }
      try writer.detach(persistentStore: written)
      let model = try ManagedObjectModel(Book.self, name: "Reader", versionIdentifiers: ["2"])
      let reader = Container(name: "Reader", managedObjectModel: model, storeLocation: directory)
      let store = try reader.attachPersistentStore()
      let titles = try await reader.performBackgroundTask { context in
        try context.fetch(FetchRequest(Book.self)).map(\.title)
      }
      #expect(titles == ["Lavinia"])
      try reader.detach(persistentStore: store)
    }
  }

  @Test func `an attribute of another type gets the converted values`() async throws {
    try await withDirectory { directory in
      let old = try ManagedObjectModel { Entity("Address") { Attribute("zip", .int32) } }
      let writer = Container(name: "Reader", managedObjectModel: old, storeLocation: directory)
      let written = try writer.attachPersistentStore()
      try await writer.performBackgroundTask { context in
        try context.insertNewObject(forEntityName: "Address").setValue(Int32(8050), for: "zip")
        try context.save()
      }
      try writer.detach(persistentStore: written)
      let model = try ManagedObjectModel(Address.self, name: "Reader", versionIdentifiers: ["2"])
      let reader = Container(name: "Reader", managedObjectModel: model, storeLocation: directory)
      let store = try reader.attachPersistentStore()
      let codes = try await reader.performBackgroundTask { context in
        try context.fetch(FetchRequest(Address.self)).map(\.zip)
      }
      #expect(codes == ["8050"])
      try reader.detach(persistentStore: store)
    }
  }

  @Test func `an incompatible store is refused and the error lists the losses`() async throws {
    try await withDirectory { directory in
      let old = try ManagedObjectModel { Entity("Book") { Attribute("pages", .string) } }
      let writer = Container(name: "Reader", managedObjectModel: old, storeLocation: directory)
      let written = try writer.attachPersistentStore()
      try await writer.performBackgroundTask { context in
        try context.insertNewObject(forEntityName: "Book").setValue("many", for: "pages")
        try context.save()
      }
      try writer.detach(persistentStore: written)
      let model = try ManagedObjectModel { Entity("Book") { Attribute("pages", .int32, optional: true) } }
      let container = Container(name: "Reader", managedObjectModel: model, storeLocation: directory)
      var isRefused = false
      do {
        try container.attachPersistentStore()
      } catch let error as CoherenceError where error.code == .incompatibleModel {
        isRefused = true
        print(error.message)
        for loss in error.dataLosses { print(loss) }
      }
      #expect(isRefused && container.persistentStoreCoordinator.persistentStores.isEmpty)
    }
  }
}
