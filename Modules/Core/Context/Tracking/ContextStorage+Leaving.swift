// Records and objects that leave a context.

extension ContextStorage {
  /// Stops tracking all records, and drops their pending notifications and deletes.
  func untrackAll() {
    let dropped = records
    deletedWhileEdited = []
    withPending { dropAll() }
    for record in dropped { release(record) }
    unpostedChanges = []
    pendingDeletes = PendingDeletes()
    pendingRecordDeletes = []
  }

  /// Whether the context has no objects, no records, and nothing else that follows the records of other contexts.
  var isEmpty: Bool {
    recordCount == 0 && registry.isEmpty && missing.isEmpty && deletedWhileEdited.isEmpty && undo == nil
      && exposedTemporaryIDs.isEmpty && retainedReads.isEmpty && unpostedChanges.isEmpty && !isTouchTracked
  }

  /// Removes an object that leaves the context, so that no lookup finds it any more.
  func unregister(_ object: ManagedObject) {
    retainedReads.removeTarget(object)
    registry.remove(object, id: object.recordID)
  }

  /// Notes that a record exists. Another writer may have restored it after its delete.
  func noteExisting(_ id: ManagedObjectID) {
    if !deletedWhileEdited.isEmpty { deletedWhileEdited.remove(id) }
  }

  /// Removes the records without unsaved changes from ``deletedWhileEdited``. Called after a save.
  func forgetDeletesOfCleanRecords() {
    guard !deletedWhileEdited.isEmpty else { return }
    deletedWhileEdited = deletedWhileEdited.filter { record(for: $0) != nil }
  }
}
