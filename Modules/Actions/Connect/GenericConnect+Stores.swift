import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization

extension GenericConnect {
  /// Opens a store, and manages its entities when started; see ``PersistentContainer/attachPersistentStore(at:for:)``.
  @discardableResult
  public final func attachPersistentStore(
    at url: URL, for configuration: StoreConfiguration
  ) throws -> any PersistentStore {
    try attachPersistentStores(at: url, for: [configuration])[0]
  }

  /// Opens several stores, or none, and manages their entities when started.
  @discardableResult
  public final func attachPersistentStores(
    at url: URL, for configurations: [StoreConfiguration]
  ) throws -> [any PersistentStore] {
    try attachments.withLock { attachments in
      let wanted = configurations.isEmpty ? [StoreConfiguration()] : configurations
      let stores = try container.attachPersistentStores(at: url, for: wanted)
      for (configuration, store) in zip(wanted, stores) {
        attachments.removeAll { $0.isWaiting(for: configuration, at: url) }
        attachments.append(StoreAttachment(directory: url, configuration: configuration, store: store))
      }
      manageEntities(logging: stores)
      return stores
    }
  }

  /// Closes a store and forgets it. Actions on entities that no other store holds are canceled and waited for first.
  public final func detach(persistentStore: any PersistentStore) throws {
    try detach(persistentStores: [persistentStore])
  }

  /// Closes several stores and forgets them. When one of them is not attached here, none is closed.
  public final func detach(persistentStores: [any PersistentStore]) throws {
    drain(try release(persistentStores))
    try attachments.withLock { attachments in
      try container.detach(persistentStores: persistentStores)
      attachments.removeAll { known in persistentStores.contains { $0 === known.store } }
    }
  }

  /// Ends the management of what only these stores hold.
  private func release(_ stores: [any PersistentStore]) throws -> [ActionQueue] {
    try attachments.withLock { _ in
      let attached = persistentStoreCoordinator.persistentStores
      for store in stores where !attached.contains(where: { $0 === store }) {
        throw CoherenceError(
          .storeDetached, "Store '\(store.identifier)' is not attached to '\(name)'; none of the stores was detached.")
      }
      return manageEntities(without: stores)
    }
  }
}
