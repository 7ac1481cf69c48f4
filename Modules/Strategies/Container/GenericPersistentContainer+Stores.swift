public import CoherenceCore
public import Foundation
import Logging

extension GenericPersistentContainer {
  @discardableResult
  public final func attachPersistentStore(
    at url: URL, for configuration: StoreConfiguration
  ) throws -> any PersistentStore {
    let factory = try persistentStoreCoordinator.factory(for: configuration.type)
    let location = configuration.resolveURL(
      defaultStorePrefix: name, storeLocation: url, usesFiles: factory.usesFiles)
    let preparation = StorePreparation(
      factory: factory, logger: logger, environment: environment(for: configuration, at: location))
    if configuration.overwriteIncompatibleStore { try preparation.setAsideIncompatibleStore() }
    try preparation.makeDirectory()
    let store = try persistentStoreCoordinator.addPersistentStore(configuration, at: location)
    logger.info("Attached a store.", metadata: ["store": "\(configuration)"])
    return store
  }

  @discardableResult
  public final func attachPersistentStores(
    at url: URL, for configurations: [StoreConfiguration]
  ) throws -> [any PersistentStore] {
    var attached: [any PersistentStore] = []
    do {
      for configuration in configurations.isEmpty ? [StoreConfiguration()] : configurations {
        attached.append(try attachPersistentStore(at: url, for: configuration))
      }
    } catch {
      for store in attached.reversed() { try? persistentStoreCoordinator.remove(store) }
      throw error
    }
    return attached
  }

  public final func detach(persistentStore store: any PersistentStore) throws {
    try persistentStoreCoordinator.remove(store)
    logger.info("Detached a store.", metadata: ["store": "\(store.identifier)"])
  }

  public final func detach(persistentStores stores: [any PersistentStore]) throws {
    let attached = persistentStoreCoordinator.persistentStores
    for store in stores where !attached.contains(where: { $0 === store }) {
      throw CoherenceError(
        .storeDetached,
        "Store '\(store.identifier)' is not attached to '\(name)', so that none of the stores was detached; pass "
          + "attached stores only.")
    }
    var firstFailure: (any Error)?
    // Each store is detached once, also if the list names it twice.
    for (index, store) in stores.enumerated() where !stores[..<index].contains(where: { $0 === store }) {
      // Another caller may have removed the store since the check. The error does not end the loop: with half of the
      // stores detached, the result would be neither the requested state nor the previous one.
      do { try detach(persistentStore: store) } catch { firstFailure = firstFailure ?? error }
    }
    if let firstFailure { throw firstFailure }
  }

  /// The environment of a store before its attachment, for the preparation of its location. The coordinator's own
  /// environment follows at the attachment, with the warnings about the configuration, which the log gets once.
  private func environment(for configuration: StoreConfiguration, at url: URL?) -> StoreEnvironment {
    StoreEnvironment(
      type: configuration.type, url: url, configurationName: configuration.name, model: managedObjectModel,
      options: configuration.options, logger: logger)
  }
}
