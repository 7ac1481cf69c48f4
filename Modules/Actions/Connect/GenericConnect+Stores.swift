public import CoherenceCore
import CoherenceStrategies
public import Foundation
import Synchronization

extension GenericConnect {
  /// Opens a store, and manages its entities if the Connect is started; see
  /// ``PersistentContainer/attachPersistentStore(at:for:)`` for parameters and errors. Blocks while the store is opened.
  @discardableResult
  public final func attachPersistentStore(
    at url: URL, for configuration: StoreConfiguration
  ) throws -> any PersistentStore {
    try attachPersistentStores(at: url, for: [configuration])[0]
  }

  /// Opens several stores, and manages their entities if the Connect is started. When one store fails, none is attached;
  /// see ``PersistentContainer/attachPersistentStores(at:for:)``.
  @discardableResult
  public final func attachPersistentStores(
    at url: URL, for configurations: [StoreConfiguration]
  ) throws -> [any PersistentStore] {
    try attachments.withLock { attachments in
      let wanted = configurations.isEmpty ? [StoreConfiguration()] : configurations
      let stores = try container.attachPersistentStores(at: url, for: wanted)
      removeAttachmentsOfRemovedStores(&attachments)
      for (configuration, store) in zip(wanted, stores) {
        attachments.removeAll { $0.awaitsStart(for: configuration, at: url) || $0.awaitsStart(of: store) }
        attachments.append(StoreAttachment(directory: url, configuration: configuration, store: store))
      }
      manageEntities(of: attachments, logging: stores)
      return stores
    }
  }

  /// Closes a store, so that the next start does not attach it again.
  ///
  /// The call first waits for the unfinished actions on entities that no other store holds, and cancels them unless the
  /// Connect is stopping. The wait blocks the calling thread. In a task, use the asynchronous form; see
  /// `stop(_:within:)`.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` when the store is not attached here; ``ErrorCode/deadlock`` when one of
  ///   these actions calls this, or waits for the caller; ``ErrorCode/illegalState`` on the main actor when an action
  ///   of the Connect waits for the main actor. The store stays attached then, and after a deadlock no action is
  ///   cancelled.
  public final func detach(persistentStore: any PersistentStore) throws {
    try detach(persistentStores: [persistentStore])
  }

  /// Closes several stores; see ``detach(persistentStore:)``. When one of them is not attached here, none is closed.
  /// Repetitions of a store in the list have no effect.
  public final func detach(persistentStores: [any PersistentStore]) throws {
    let (actions, isCanceling) = try beginDetaching(persistentStores)
    do {
      try actions.waitUntilFinished(canceling: isCanceling)
    } catch {
      cancelDetaching(persistentStores)
      throw error
    }
    try finishDetaching(persistentStores)
  }

  /// Closes several stores without blocking a thread; see ``detach(persistentStore:)``.
  public final func detach(persistentStores: [any PersistentStore]) async throws {
    let (actions, isCanceling) = try beginDetaching(persistentStores)
    do {
      try await actions.waitUntilFinished(canceling: isCanceling)
    } catch {
      cancelDetaching(persistentStores)
      throw error
    }
    try finishDetaching(persistentStores)
  }
}

// MARK: - The steps of detaching

extension GenericConnect {
  /// Ends the management of the entities that only these stores hold. The mark in the attachments keeps concurrent calls
  /// of attach and detach from managing these entities again.
  ///
  /// - Returns: The actions to wait for before the stores are closed, and whether to cancel them first.
  /// - Throws: ``ErrorCode/storeDetached``. No attachment is marked then.
  private func beginDetaching(
    _ stores: [any PersistentStore]
  ) throws -> (actions: [AnyActionHandle], isCanceling: Bool) {
    try attachments.withLock { attachments in
      try checkAreAttached(stores, attachments)
      markDetaching(stores, in: &attachments)
      manageEntities(of: attachments)
      let entities = ManagedEntities(of: stores, model: managedObjectModel)
      // A draining stop lets its actions run to their end, and detaches the stores anyway.
      return (dispatcher.unfinished(of: entities), state != .stopping)
    }
  }

  /// Refuses stores that neither are attached here nor were detached by a stop.
  private func checkAreAttached(_ stores: [any PersistentStore], _ attachments: [StoreAttachment]) throws {
    let attached = persistentStoreCoordinator.persistentStores
    for store in stores
    where !attached.contains(where: { $0 === store }) && !attachments.contains(where: { $0.detachedStore === store }) {
      throw CoherenceError(
        .storeDetached,
        "Store '\(store.identifier)' is not attached to '\(name)', so that none of the stores was detached; pass "
          + "attached stores only.")
    }
  }

  /// Counts a call of `detach` in the attachments of its stores, once in each attachment, as `cancelDetaching` does.
  private func markDetaching(_ stores: [any PersistentStore], in attachments: inout [StoreAttachment]) {
    for store in stores where !attachments.contains(where: { $0.isAttachment(of: store) }) {
      attachments.append(attachment(of: store))
    }
    for index in attachments.indices where stores.contains(where: { attachments[index].isAttachment(of: $0) }) {
      attachments[index].pendingDetachCount += 1
    }
  }

  /// Removes the marks that `beginDetaching` has set: the stores stay attached.
  private func cancelDetaching(_ stores: [any PersistentStore]) {
    attachments.withLock { attachments in
      for index in attachments.indices where stores.contains(where: { attachments[index].isAttachment(of: $0) }) {
        attachments[index].pendingDetachCount -= 1
      }
      manageEntities(of: attachments)
    }
  }

  /// Closes the stores, except for stores that a stop or another call has closed already.
  private func finishDetaching(_ stores: [any PersistentStore]) throws {
    try attachments.withLock { attachments in
      attachments.removeAll { attachment in stores.contains(where: attachment.isAttachment) }
      defer { manageEntities(of: attachments) }
      let attached = persistentStoreCoordinator.persistentStores
      try container.detach(persistentStores: attached.filter { store in stores.contains { $0 === store } })
    }
  }
}
