import Coherence
import Foundation
import Testing

/// Opens SQLite stores with the options of the program.
struct LibraryFactory: StoreFactory {
  private let sqlite = SQLiteStoreFactory()

  var usesFiles: Bool { sqlite.usesFiles }
  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    var environment = environment
    environment.options[SQLiteOption.busyTimeout] = 30
    return try sqlite.open(environment)
  }
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { try sqlite.metadata(environment) }
  func setAside(_ environment: StoreEnvironment) throws -> String { try sqlite.setAside(environment) }
}

extension StoreType {
  static let library = StoreType("Library", factory: LibraryFactory())
}

extension LibraryFactory: StoreErasing, MigrationPreviewing {
  func erase(_ environment: StoreEnvironment) throws { try sqlite.erase(environment) }
  func migrationPreview(_ environment: StoreEnvironment) throws -> MigrationPreview? {
    try sqlite.migrationPreview(environment)
  }
}

@Suite("The article about types of stores")
struct StoreTypeGuideTests {
  @Test func `a type of the program opens a store of another type`() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Catalogue", managedObjectModel: try Catalogue.model(), storeLocation: directory)
    let store = try container.attachPersistentStore(for: StoreConfiguration(type: .library))
    try await container.performBackgroundTask { context in
      try Artist(context: context).name = "Nina Simone"
      try context.save()
    }
    try container.detach(persistentStore: store)
    #expect(store.type == .library)
    let file = directory.appendingPathComponent("Catalogue.library")
    #expect(FileManager.default.fileExists(atPath: file.path))
    #expect(try container.migrationPreview(for: StoreConfiguration(type: .library))?.isEmpty == true)
    try (container.persistentStoreCoordinator.factory(for: .library) as? any StoreErasing)?.erase(store.environment)
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test func `a registered type is found by its name`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let registry = StoreRegistry()
    try registry.register(.library)
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Catalogue", managedObjectModel: try Catalogue.model(), storeLocation: directory, registry: registry)
    let store = try container.attachPersistentStore(for: StoreConfiguration(type: "Library"))
    #expect(store.type == .library)
    try container.detach(persistentStore: store)
  }
}
