import Coherence
import CoherencePostgreSQL
import Foundation

/// A Coherence store with a coordinator of its own, so that earlier users of the file leave no caches.
final class ObjectStore {
  let coordinator: PersistentStoreCoordinator
  private let store: any PersistentStore

  /// A store in a SQLite file.
  convenience init(file: URL, synchronous: String = "full") throws {
    try self.init(type: .sqlite, location: file, options: [SQLiteOption.synchronous: .string(synchronous)])
  }

  /// A store in a schema of a PostgreSQL database.
  convenience init(url: String, schema: String) throws {
    try self.init(
      type: .postgreSQL, location: try PostgreSQLServer.location(of: url),
      options: [PostgreSQLOption.schema: .string(schema)])
  }

  private init(type: StoreType, location: URL, options: [String: OptionValue]) throws {
    coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model.get())
    store = try coordinator.addPersistentStore(type: type, at: location, options: options)
  }

  private static let model = Result { try ManagedObjectModel { PersonObject.entityDeclaration } }

  func close() throws { try coordinator.remove(store) }

  func makeContext() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Reads all rows in a new context, and returns their checksum.
  func readBack(closing: Bool = true) throws -> UInt64 {
    let context = makeContext()
    let checksum = try context.performAndWait { try context.fetchPeople().checksum }
    if closing { try close() }
    return checksum
  }

  /// Runs the body in a fresh context, then closes the store.
  static func once<T>(_ store: ObjectStore, _ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = store.makeContext()
    let result = try context.performAndWait { try body(context) }
    try store.close()
    return result
  }
}
