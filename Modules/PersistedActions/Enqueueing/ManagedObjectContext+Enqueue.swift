public import CoherenceActions
public import CoherenceCore
public import Foundation

extension ManagedObjectContext {
  /// Inserts an action into this context. The next save of the context commits the action together with the other
  /// changes; a save that fails, and a rollback of the context, leave no action in the store.
  ///
  /// An undo before the save takes the action back together with the other changes of its group. An undo after the save
  /// leaves the action, which a worker may have run: cancel it by ``PersistedActions/cancel(_:)``.
  ///
  /// If `store`, or any attached store without this argument, has an unfinished action with the same name, or a former
  /// one, and the same unique key, this call inserts no record and returns the handle of the stored action, which keeps
  /// its payload, date and priority. If another context saves an equal action into the store before this context's save,
  /// the save omits this action and commits all other changes; it begins again for this, so that it calls the hooks of
  /// objects again. This call ignores finished actions, and the actions of read-only stores.
  ///
  /// Call it on the context's thread. An action with a unique key costs one fetch, which also under a pinned snapshot
  /// reads the present state of the stores. The commit wakes the workers of this process, and of every other process
  /// with the store open.
  ///
  /// - Parameters:
  ///   - action: The action, which is encoded at once.
  ///   - uniqueKey: The key that makes unfinished actions of one name equal; `nil` for none.
  ///   - date: The date from which the action may run, by the worker's clock; `nil` for at once.
  ///   - priority: The priority among the waiting actions of the queue. A level counts as ten minutes of waiting, so
  ///     that later actions cannot delay an action of low priority for ever.
  ///   - queue: The queue; `nil` for the queue of the action's type.
  ///   - retry: The retry policy; `nil` for the policy of the action's type at the time of the attempt.
  ///   - store: The store; `nil` for the store that the context chooses for new records. With several stores, name the
  ///     store of the records that the same save changes.
  /// - Returns: The handle of the action.
  /// - Throws: Errors of encoding the action; ``ErrorCode/invalidValue`` for a date that no store can keep, such as an
  ///   infinite one; ``ErrorCode/invalidModel`` for a model without `addingPersistedActions()`; ``ErrorCode/storeDetached`` and ``ErrorCode/noStore`` for a store that is not attached
  ///   or does not hold the entities of actions; errors of fetching. A call that throws inserts nothing.
  @discardableResult
  public final func enqueue<A: PersistedAction>(
    _ action: A, uniqueKey: String? = nil, at date: Date? = nil, priority: ActionPriority = .normal,
    queue: String? = nil, retry: PersistedRetry? = nil, in store: (any PersistentStore)? = nil
  ) throws -> PersistedActionHandle {
    guard let coordinator = persistentStoreCoordinator else {
      throw CoherenceError(
        .contextWithoutStore, "The context has no coordinator: set `persistentStoreCoordinator` or `parent` first.")
    }
    let entity = try coordinator.managedObjectModel.persistedActionEntity()
    let payload = try JSONEncoder().encode(action)
    guard date.map({ Timestamp($0) != nil }) ?? true else {
      // The save of the context would fail with all other changes, and name an attribute of the record.
      throw CoherenceError(
        .invalidValue,
        "The date of the action '\(A.name)' lies further from 1970 than 291,500 years, which no store can keep; give the "
          + "action an earlier date.")
    }
    if let uniqueKey, let present = try unfinishedAction([A.name] + A.formerNames, uniqueKey, in: store) {
      return present
    }
    let record = PersistedActionRecord(entity: entity, insertInto: self)
    let now = Date()
    record.identifier = .random()
    record.name = A.name
    record.queue = queue ?? A.queue
    record.payload = payload
    record.key = uniqueKey
    record.activeKey = uniqueKey
    record.priority = Int16(priority.rawValue)
    record.ownRetry = retry
    record.enqueuedDate = now
    if let date { record.schedule(for: date) } else { record.wait(from: now, now: now) }
    if let store {
      do {
        try assign(record, to: store)
      } catch {
        // The caller may catch the error and save, and the action must not run then.
        delete(record)
        throw error
      }
    }
    return record.handle
  }

  /// Returns the handle of the unfinished action with a unique key, saved or in this context only.
  ///
  /// - Parameters:
  ///   - names: The name of the action and its former names.
  ///   - store: The store of the action; `nil` for any store.
  private final func unfinishedAction(
    _ names: [String], _ key: String, in store: (any PersistentStore)?
  ) throws -> PersistedActionHandle? {
    // No worker of the coordinator can run an action of a read-only store.
    let actions = FetchRequest(PersistedActionRecord.self).inWritableStores()
      .filter { $0.name.isIn(names) && $0.activeKey == key }
    let request = store.map { actions.inStores([$0.identifier]) } ?? actions.limit(1)
    // A fetch finds the unsaved actions of all stores.
    func isInStore(_ record: PersistedActionRecord) -> Bool {
      store.map { record.canBelong(to: $0.identifier) } ?? true
    }
    guard hasPinnedSnapshot, let coordinator = persistentStoreCoordinator else {
      return try fetch(request).first(where: isInStore)?.handle
    }
    for case let record as PersistedActionRecord in insertedObjects
    where names.contains(record.name) && record.activeKey == key && isInStore(record) {
      return record.handle
    }
    // Not from the pinned state: an action that is unfinished there may have finished, and runs no second time.
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    return try context.performAndWait { try context.fetch(request).first?.handle }
  }
}
