public import CoherenceActions
public import CoherenceCore
public import Foundation

extension ManagedObjectContext {
  /// Inserts an action into this context. The action exists once a save of the context has committed, together with the
  /// other changes of the save, and not at all when the save fails or is rolled back.
  ///
  /// An action with a unique key joins the unfinished action with the same name and key: no record is inserted, and the
  /// handle names the present action. If another context saves an equal action first, the save of this context leaves
  /// its own action out and goes on. The other properties of the joined action, its date and its priority are left as they
  /// are. Finished actions are not joined.
  ///
  /// To be called inside the context. Reads the store once for an action with a unique key, and not otherwise. Workers of
  /// all processes that have the store open are woken by the commit.
  ///
  /// - Parameters:
  ///   - action: The action, which is encoded at once.
  ///   - uniqueKey: The key that makes unfinished actions of one name equal; `nil` for none.
  ///   - date: The date from which the action may run, by the worker's clock; `nil` for at once.
  ///   - priority: The priority among the waiting actions of the queue. A level counts as ten minutes of waiting, so that
  ///     actions of low priority run in the end.
  ///   - queue: The queue; `nil` for the queue of the action's type.
  ///   - retry: The attempts; `nil` for those of the action's type when it runs.
  ///   - store: The store; `nil` for the store that the context chooses for new records. With several stores, name the
  ///     store of the data that is saved with the action.
  /// - Returns: The handle of the action.
  /// - Throws: Errors of encoding the action; ``ErrorCode/invalidModel`` for a model without
  ///   `addingPersistedActions()`; errors of fetching.
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
    if let uniqueKey, let present = try unfinishedAction(A.name, uniqueKey) { return present }
    let record = PersistedActionRecord(entity: entity, insertInto: self)
    let now = Date()
    record.identifier = UUID()
    record.name = A.name
    record.queue = queue ?? A.queue
    record.payload = payload
    record.key = uniqueKey
    record.activeKey = uniqueKey
    record.priority = Int16(priority.rawValue)
    record.ownRetry = retry
    record.enqueuedDate = now
    record.wait(from: date ?? now, now: now)
    // A worker decides by its own clock whether a date is reached.
    record.state = date == nil ? .waiting : .scheduled
    if let store { try assign(record, to: store) }
    signalOnSave(ActionChannel.due)
    return record.handle
  }

  /// The handle of the unfinished action with a unique key, unsaved ones included.
  private final func unfinishedAction(_ name: String, _ key: String) throws -> PersistedActionHandle? {
    let request = FetchRequest(PersistedActionRecord.self).filter { $0.name == name && $0.activeKey == key }.limit(1)
    return try fetch(request).first?.handle
  }
}
