import Coherence
import CoherencePostgreSQL
import Foundation
import Logging

/// The demo's Connect, with an in-memory store and a persistent store.
package struct DemoStack: Sendable {
  /// The location of the catalog.
  package enum Place: Sendable {
    /// A SQLite file in a directory.
    case directory(URL)
    /// A PostgreSQL database.
    case postgreSQL(URL)
  }

  package typealias Connect = GenericConnect<ContextStrategy.Mixed>

  package let connect: Connect
  /// The persistent store.
  package let catalog: any PersistentStore

  /// Attaches the stores and starts the Connect.
  ///
  /// - Parameter reset: Whether to begin with an empty catalog. A store with an incompatible model is then moved aside.
  package init(place: Place, reset: Bool = false, logger: Logger = .silent) async throws {
    connect = Connect(name: "Packages", managedObjectModel: try CatalogModel.make(), logger: logger)
    let session = StoreConfiguration(name: CatalogModel.session, type: .inMemory)
    try connect.attachPersistentStore(for: session)
    switch place {
    case .directory(let directory):
      let configuration = StoreConfiguration(
        name: CatalogModel.catalog, type: .sqlite, overwriteIncompatibleStore: reset)
      catalog = try connect.attachPersistentStore(at: directory, for: configuration)
    case .postgreSQL(let url):
      let configuration = StoreConfiguration(
        name: CatalogModel.catalog, type: .postgreSQL, overwriteIncompatibleStore: reset,
        options: [PostgreSQLOption.schema: "coherence_demo"], location: url)
      catalog = try connect.attachPersistentStore(for: configuration)
    }
    try await connect.start()
    if reset { try await empty() }
  }

  private func empty() async throws {
    try await connect.performBackgroundTask { context in
      _ = try context.execute(BatchDeleteRequest(Package.self))
      _ = try context.execute(BatchDeleteRequest(Section.self))
      _ = try context.execute(BatchDeleteRequest(Maintainer.self))
    }
  }

  /// Cancels running actions, waits for their end and closes the stores.
  package func stop() async throws { try await connect.stop() }
}
