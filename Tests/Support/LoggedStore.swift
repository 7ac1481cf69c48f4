package import CoherenceCore
import Foundation

/// A coordinator with one new store, and the log of the store's statements.
package struct LoggedStore: Sendable {
  private let directory = TemporaryDirectory()
  package let log = MessageLog()
  package let coordinator: PersistentStoreCoordinator
  package let store: any PersistentStore

  /// - Parameter options: Options of the store besides those of the backend's configuration.
  package init(
    _ backend: Backend, _ model: ManagedObjectModel, options: [String: OptionValue] = [:], target: String = #fileID
  ) throws {
    coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    var configuration = backend.newConfiguration(target: target)
    configuration.options.merge(options) { $1 }
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    store = try coordinator.addPersistentStore(
      configuration, at: backend == .sqlite ? directory.file("store.sqlite") : configuration.location)
  }

  package func context() -> ManagedObjectContext { ManagedObjectContext(coordinator: coordinator) }

  /// Runs a block in a new context, and saves.
  @discardableResult
  package func write<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    try context().saving(body)
  }

  /// Detaches the store.
  package func close() { try? coordinator.remove(store) }
}
