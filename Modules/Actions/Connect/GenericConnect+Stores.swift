public import CoherenceCore
import CoherenceStrategies
public import Foundation
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
      manageEntities(of: attachments, logging: stores)
      return stores
    }
  }

  /// Closes a store and forgets it. Actions on entities that no other store holds are canceled and waited for first; while
  /// the Connect is stopping, they are waited for. A store that a stop closed is forgotten, and not attached again.
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
      keep(persistentStores)
      throw error
    }
    try forget(persistentStores)
  }

  /// Closes several stores without blocking a thread, and forgets them.
  public final func detach(persistentStores: [any PersistentStore]) async throws {
    do {
      try await release(persistentStores).waitUntilFinished()
    } catch {
      keep(persistentStores)
      throw error
    }
    try forget(persistentStores)
  }
}

// MARK: - The way out

extension GenericConnect {
  /// Ends the management of the entities that only these stores hold, also while others attach or detach stores.
  ///
  /// - Returns: The actions to wait for before the stores are closed.
  private func release(_ stores: [any PersistentStore]) throws -> [AnyActionHandle] {
    let (handles, isStopping) = try attachments.withLock { attachments in
      try refuseUnknown(stores, attachments)
      for store in stores { mark(store, in: &attachments) }
      manageEntities(of: attachments)
      let going = ManagedEntities(of: stores, model: managedObjectModel)
      return (dispatcher.unfinished(of: going), state == .stopping)
    }
    // An action that a stop lets run to its end is not canceled for a store that the same stop detaches.
    if !isStopping, !handles.contains(where: { $0 === AnyActionHandle.current }) { handles.cancelAll() }
    return handles
  }

  private func refuseUnknown(_ stores: [any PersistentStore], _ attachments: [StoreAttachment]) throws {
    let attached = persistentStoreCoordinator.persistentStores
    for store in stores
    where !attached.contains(where: { $0 === store }) && !attachments.contains(where: { $0.former === store }) {
      throw CoherenceError(
        .storeDetached, "Store '\(store.identifier)' is not attached to '\(name)'; none of the stores was detached.")
    }
  }

  private func mark(_ store: any PersistentStore, in attachments: inout [StoreAttachment]) {
    if let index = attachments.firstIndex(where: { $0.isAttachment(of: store) }) {
      attachments[index].leaving += 1
    } else {
      var attachment = attachment(of: store)
      attachment.leaving = 1
      attachments.append(attachment)
    }
  }

  /// The stores stay after all.
  private func keep(_ stores: [any PersistentStore]) {
    attachments.withLock { attachments in
      for index in attachments.indices where stores.contains(where: { attachments[index].isAttachment(of: $0) }) {
        attachments[index].leaving -= 1
      }
      manageEntities(of: attachments)
    }
  }

  /// Closes the stores, but for stores that a stop or another call has closed.
  private func forget(_ stores: [any PersistentStore]) throws {
    try attachments.withLock { attachments in
      attachments.removeAll { known in stores.contains(where: known.isAttachment) }
      defer { manageEntities(of: attachments) }
      let attached = persistentStoreCoordinator.persistentStores
      try container.detach(persistentStores: stores.filter { store in attached.contains { $0 === store } })
    }
  }
}
