// References to records deleted before their first save. No store has such a record, so that every reference to the
// record is cleared, whatever the delete rule says.

extension ManagedObjectContext {
  /// Removes never saved, deleted records from the unsaved lists and references whose owners no delete rule finds.
  ///
  /// - Throws: Errors of loading an owner.
  final func forgetNeverSaved(_ deletedIDs: Set<ManagedObjectID>) throws {
    guard !deletedIDs.isEmpty, let model = persistentStoreCoordinator?.managedObjectModel,
      model.mayKeepDeleted(Set(deletedIDs.map { ObjectIdentifier($0.entity.root) }))
    else { return }
    forgetMembers(deletedIDs)
    try clearReferences(to: deletedIDs)
  }

  private final func clearReferences(to deletedIDs: Set<ManagedObjectID>) throws {
    for record in storage.records where record.kind != .deleted && record.entity.hasReferences {
      for slot in record.entity.referenceSlots {
        guard case .reference(let target) = record[slot], deletedIDs.contains(target) else { continue }
        try record.object?.write(.null, at: slot)
      }
    }
  }

  /// Whether the object of a temporary identifier was deleted, or discarded by a child's parent, before its first save.
  /// Always `false` in a child, because its parent may save the object at the same time.
  final func wasNeverSaved(_ id: ManagedObjectID) -> Bool {
    parent == nil && id.isTemporaryID && storage.record(for: id) == nil
  }
}
