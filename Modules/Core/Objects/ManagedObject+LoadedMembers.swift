// Loaded lists of members in loops that change and read them: no step costs as much as the list.

extension ManagedObject {
  /// Whether a member of a loaded list was deleted since the last call.
  ///
  /// The fewer are looked up among the others: the new deletes among the members, or the members among the deleted
  /// records. A loop that deletes a member of each of many lists would otherwise compare each list with all deletes.
  final func mayHaveDeletedMember(
    _ list: MemberList, of relationship: RelationshipDescription, in storage: ContextStorage
  ) -> Bool {
    let new = storage.pendingDeletes.objects.suffix(storage.deleteCount - list.comparedDeletes)
    let changes = pending?.members[relationship]
    guard list.ids.count + (changes?.addedCount ?? 0) < new.count else {
      return new.contains { changes?.contains($0.recordID) ?? list.contains($0.recordID) }
    }
    func isDeleted(_ id: ManagedObjectID) -> Bool { storage.record(for: id)?.kind == .deleted }
    return changes?.added.contains(where: isDeleted) == true
      || list.ids.contains { isDeleted($0) && changes?.contains($0) != false }
  }

  /// Updates a loaded list with the context's own changes before a further change: adds a member that comes last, or
  /// drops the list, which the next read makes anew.
  ///
  /// - Parameter record: The record of the unsaved changes so far.
  final func updateEffectiveMembers(
    of relationship: RelationshipDescription, before edit: MemberEdit, _ record: PendingRecord
  ) {
    guard let list = collections?[relationship] else { return }
    if case .add(let id) = edit, let last = list.effective?.last, let changes = record.members[relationship],
      changes.keepsPositions, changes.contains(id) == nil, !list.contains(id),
      relationship.isOrdered || ManagedObjectID.precedes(last, id)
    {
      list.effective?.append(id)
    } else {
      list.effective = nil
    }
  }
}
