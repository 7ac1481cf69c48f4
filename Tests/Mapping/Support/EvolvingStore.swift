import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import TestSupport

/// One store that several versions of a program open in sequence.
struct EvolvingStore {
  let directory = TemporaryDirectory()
  let log = MessageLog()
  private let configuration: StoreConfiguration
  private let mergePolicy: MergePolicy

  init(_ backend: Backend, mergePolicy: MergePolicy = .error) {
    configuration = backend.newConfiguration()
    self.mergePolicy = mergePolicy
  }

  /// Runs a version of the program: opens the store with its model, and closes the store at the end.
  func run<T>(
    _ model: ManagedObjectModel, options: [String: OptionValue] = [:], _ body: (PersistenceManager) throws -> T
  ) throws -> T {
    var configuration = configuration
    configuration.options.merge(options) { $1 }
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Evolving", managedObjectModel: model, storeLocation: directory.url, logger: log.logger)
    let manager = PersistenceManager(
      container: container, mergePolicy: mergePolicy, storeConfigurations: [configuration])
    try manager.load()
    let result = Result { try body(manager) }
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    return try result.get()
  }
}
