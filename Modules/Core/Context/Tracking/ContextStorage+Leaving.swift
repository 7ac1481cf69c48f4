// Records and objects that leave a context.

extension ContextStorage {
  /// Stops tracking all records, and drops their pending notifications and deletes.
  func untrackAll() {
    let dropped = records
    vanished.edited = []
    withPending { dropAll() }
    for record in dropped { release(record) }
    notifications.unposted = []
    // Released after the access: the `deinit` of an object may read a relationship, and with it the pending rules.
    let deletes = pendingRules.takeAll()
    withExtendedLifetime(deletes) {}
  }

  /// Whether the context has no objects, no records, and nothing else that follows the records of other contexts.
  var isEmpty: Bool {
    unsaved.count == 0 && registry.isEmpty && vanished.isEmpty && undo == nil && exposedTemporaryIDs.isEmpty
      && retainedReads.isEmpty && notifications.unposted.isEmpty && !isTouchTracked
  }

  /// Removes an object that leaves the context, so that no lookup finds it any more.
  func unregister(_ object: ManagedObject) {
    retainedReads.removeTarget(object)
    registry.remove(object, id: object.recordID)
  }
}
