// The same move of a record to another owner by this context and by another writer. The rows below the changes have the
// move, so that neither the record nor its owners have a change to save.

extension ContextStorage {
  /// Runs a refresh of a record, and removes the record from the unsaved members of its owners if the refresh drops the
  /// edit of the reference to them. The user's move of the record has changed a list of each owner.
  ///
  /// Called under the lock.
  ///
  /// - Returns: The relationships of the owners. The caller invalidates their lists, which may be from before the other
  ///   writer's move.
  func forgettingConfirmedMoves(of record: PendingRecord, _ refresh: () -> Void) -> Set<RelationshipDescription> {
    let moves = record.moves
    refresh()
    var lists: Set<RelationshipDescription> = []
    for move in moves where !record.changed.contains(move.slot) {
      for owner in move.owners.compactMap({ self.recordUnderLock(for: $0) }) where owner.members[move.list] != nil {
        owner.members[move.list]?.forgetMove(of: record.id)
        lists.insert(move.list)
      }
    }
    return lists
  }
}

extension PendingRecord {
  /// An unsaved edit of a reference to an owner.
  fileprivate struct Move {
    let slot: Int
    /// The unordered relationship of the owners, with the record as a member.
    let list: RelationshipDescription
    /// The owner before the edit, the owner that another writer has saved since, and the owner after the edit.
    let owners: [ManagedObjectID]
  }

  /// The unsaved edits of references to owners.
  fileprivate var moves: [Move] {
    guard kind == .updated, let base else { return [] }
    return entity.referenceSlots.compactMap { slot in
      guard changed.contains(slot), case .reference(let relationship) = entity.slots[slot],
        let list = relationship.inverse, list.isToMany, !list.isOrdered
      else { return nil }
      let owners = [overtaken?[slot], base[slot], self[slot]].compactMap { value -> ManagedObjectID? in
        if case .reference(let id)? = value { id } else { nil }
      }
      return Move(slot: slot, list: list, owners: owners)
    }
  }
}
