// Saves of other contexts between the beginning of a unit of work, which merges the earlier saves, and its first read,
// which fixes the state of a store. The reads of the unit see such a save, and the objects in use must not show the
// state before it.

extension ManagedObjectContext {
  /// Drops values and lists from before the state that the unit of work reads, so that the objects in use show this
  /// state. Called after the first read of each store.
  ///
  /// The received saves are not merged, because they may be later than the state: the objects that they name are read
  /// again.
  @inline(never) final func forgetStateBeforeRead() {
    lease.noteNewReaderHandled()
    // The objects were made faults when a snapshot began. During the context's own save, when the save number is `nil`,
    // reads must not turn objects into faults between the steps of the save.
    guard lease.pins == 0, storage.saveNumber.value != nil else { return }
    if persistentStoreCoordinator?.storeEventHub.isSaving == true {
      // The state may contain a save whose changes have not arrived yet. Any list may have other members then.
      storage.invalidateAllLists()
    }
    switch inbox.content {
    case .nothing: return
    case .changes(let list, _): for changes in list { readAgain(changes) }
    case .everything:
      forgetCleanRows(of: storage.registry.all)
      storage.invalidateAllLists()
    }
  }

  /// Has the records of a save and their lists read again.
  private final func readAgain(_ changes: ChangeSet) {
    var ids = changes.updated.map(\.id) + changes.refreshed + changes.deleted
    ids += changes.relinked.keys
    forgetCleanRows(of: ids.compactMap { storage.registry.object(for: $0) })
    var outdated = Set(changes.relinked.values.joined())
    for row in changes.inserted + changes.updated { outdated.formUnion(row.entity.listsDerivedFromRows) }
    for id in changes.refreshed + changes.deleted {
      outdated.formUnion(id.entity.hierarchy.flatMap(\.listsDerivedFromRows))
    }
    for relationship in outdated { storage.invalidateLists(of: relationship) }
    invalidateLists(of: changes.deleted, withoutInverse: true)
  }

  /// Makes faults of unchanged objects. Other objects read their lists again.
  private final func forgetCleanRows(of objects: [ManagedObject]) {
    turningIntoFaults(objects.filter { $0.pending == nil && $0.row != nil }) {
      for object in objects {
        object.collections = nil
        if object.pending == nil { object.row = nil }
      }
    }
  }
}
