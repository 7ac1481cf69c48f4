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
  ///
  /// - Throws: Also ``ErrorCode/actionWaitsForItself`` when one of these actions calls this, or waits for the one that
  ///   does. Nothing is detached then.
  public final func detach(persistentStore: any PersistentStore) throws {
    try detach(persistentStores: [persistentStore])
  }

  /// Closes several stores and forgets them. When one of them is not attached here, none is closed.
  public final func detach(persistentStores: [any PersistentStore]) throws {
    do {
      try release(persistentStores).waitUntilFinished()
    } catch {
      resumeManagement()
      throw error
    }
    try forget(persistentStores)
  }

  /// Closes several stores without blocking a thread, and forgets them.
  public final func detach(persistentStores: [any PersistentStore]) async throws {
    do {
      try await release(persistentStores).waitUntilFinished()
    } catch {
      resumeManagement()
      throw error
    }
    try forget(persistentStores)
  }

  /// Ends the management of what only these stores hold.
  ///
  /// - Returns: The canceled actions that have to end before the stores are closed.
  private func release(_ stores: [any PersistentStore]) throws -> [AnyActionHandle] {
    let handles = try attachments.withLock { _ in
      let attached = persistentStoreCoordinator.persistentStores
      for store in stores where !attached.contains(where: { $0 === store }) {
        throw CoherenceError(
          .storeDetached, "Store '\(store.identifier)' is not attached to '\(name)'; none of the stores was detached.")
      }
      manageEntities(without: stores)
      return dispatcher.unfinishedOfUnmanaged
    }
    guard !handles.contains(where: { $0 === AnyActionHandle.current }) else { return handles }
    handles.cancelAll()
    return handles
  }

  private func forget(_ stores: [any PersistentStore]) throws {
    try attachments.withLock { attachments in
      defer { manageEntities() }
      try container.detach(persistentStores: stores)
      attachments.removeAll { known in stores.contains { $0 === known.store } }
    }
  }

  private func resumeManagement() { attachments.withLock { _ in manageEntities() } }
}
