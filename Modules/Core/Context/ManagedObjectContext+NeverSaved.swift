// References to records deleted before their first save. No store has such a record, so that every reference to the
// record is cleared, whatever the delete rule says.

extension ManagedObjectContext {
  /// Removes never saved, deleted records from the unsaved lists and references whose owners no delete rule finds.
  ///
  /// - Throws: Errors of loading an owner.
  final func forgetNeverSaved(_ gone: Set<ManagedObjectID>) throws {
    guard !gone.isEmpty, let model = persistentStoreCoordinator?.managedObjectModel,
      model.mayKeepDeleted(Set(gone.map { ObjectIdentifier($0.entity.root) }))
    else { return }
    forgetMembers(gone)
    try clearReferences(to: gone)
  }

  private final func clearReferences(to gone: Set<ManagedObjectID>) throws {
    for record in storage.records where record.kind != .deleted && record.entity.hasReferences {
      for slot in record.entity.referenceSlots {
        guard case .reference(let target) = record[slot], gone.contains(target) else { continue }
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
