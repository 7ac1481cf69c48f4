// The saved positions of members that an undo returns to their saved lists. The steps of an undo restore recorded states,
// and another writer may have moved the members since.

extension ManagedObjectContext {
  /// Gives a record that an undo has returned to its saved owner its saved position in the owner's list. A save of the
  /// recorded position would revert the moves of another writer, without a conflict.
  ///
  /// Called after the undo of all steps, because the undo of a move restores the position before the owner.
  ///
  /// - Parameter step: A reverted step, which changes nothing unless it has made the first unsaved change of a position.
  final func restorePosition(changedBy step: UndoStep, by history: UndoHistory) throws {
    guard case .value(let recorded, let slot, _, let isFirst) = step, isFirst,
      case .position = recorded.entity.slots[slot], let object = changedObject(recorded, by: history),
      let record = object.pending, let base = record.base
    else { return }
    // The slot of the reference to the owner precedes the slot of the position.
    guard record.changed.contains(slot), !record.changed.contains(slot - 1) else { return }
    try object.write(base[slot], at: slot)
  }

  /// Drops the removal and the addition of members that a group has removed from an ordered list and added again, and
  /// that have their saved positions again. Without both, the owner has no change to save.
  ///
  /// Called after ``restorePosition(changedBy:by:)`` of all steps.
  final func forgetRestoredMembers(of step: UndoStep, by history: UndoHistory) {
    guard case .list(let list) = step, let object = changedObject(list.object, by: history),
      let record = object.pending, record.base != nil, let changes = record.members[list.relationship],
      !changes.removed.isEmpty, let below = object.loadedList(of: list.relationship)
    else { return }
    let restored = changes.removed.filter {
      changes.contains($0) == true && below.contains($0) && hasSavedPosition($0, in: list.relationship)
    }
    guard !restored.isEmpty, changes.keepsOrder(withoutMovesOf: restored, in: below.ids) else { return }
    storage.withPending {
      for id in restored {
        record.members[list.relationship]?.forgetMove(of: id)
        guard let inverse = list.relationship.inverse, inverse.isToMany,
          let member = storage.recordUnderLock(for: id)
        else { continue }
        member.members[inverse]?.forgetMove(of: object.recordID)
      }
      record.members[list.relationship]?.dropFormerOrder(below: below.ids)
    }
    // Without the order, the members have the order of the loaded list.
    below.effective = nil
  }

  /// Whether a member has the owner and the position of its saved row, if the member's row has them.
  private final func hasSavedPosition(_ id: ManagedObjectID, in relationship: RelationshipDescription) -> Bool {
    guard case .inverseColumn(let inverse, let position) = relationship.storage, let slot = inverse.slot,
      let record = storage.record(for: id)
    else { return true }
    return record.base != nil && !record.changed.contains(slot) && position.map { record.changed.contains($0) } != true
  }

  /// The object with a recorded object's record, which the undo of a step has changed; `nil` if the record is deleted.
  private final func changedObject(_ recorded: ManagedObject, by history: UndoHistory) -> ManagedObject? {
    isPresent(recorded) ? recorded : history.restoredObject(of: recorded, in: self)
  }
}

extension ManagedObject {
  /// Drops the unsaved removals of members that do not return, because another writer has deleted their records or the
  /// owner's, and that the list below the changes does not have any more. The owner would have a change to save.
  final func forgetRemovals(of ids: Set<ManagedObjectID>, from relationship: RelationshipDescription) throws {
    guard let storage, let pending, pending.members[relationship]?.removed.isDisjoint(with: ids) == false else {
      return
    }
    let obsolete = ids.subtracting(try memberList(of: relationship).ids)
    storage.withPending { pending.members[relationship]?.forgetRemovals(of: obsolete) }
  }

  /// The members of an ordered list after an undo, in the order of the list below the unsaved changes. Another writer may
  /// have moved members since the changes of the group.
  ///
  /// - Returns: `nil` if the group or an earlier one has moved members, and if the list below the changes, with the changes
  ///   of earlier groups, has other members.
  final func savedOrder(
    of members: [ManagedObjectID], changedBy list: RecordedList, below: [ManagedObjectID]
  ) -> [ManagedObjectID]? {
    guard !list.isReordered, var changes = pending?.members[list.relationship], changes.keepsPositions else {
      return nil
    }
    let remaining = Set(members)
    for id in changes.removed where remaining.contains(id) && changes.contains(id) == false {
      changes.forgetMove(of: id)
    }
    for id in changes.added where !remaining.contains(id) { changes.remove(id) }
    let ordered = changes.applied(to: below)
    return Set(ordered) == remaining ? ordered : nil
  }
}

extension MemberChanges {
  /// Whether the list has the same order without the removals and additions of members that the list below the changes
  /// has too. Without an order of all members, such a member comes behind the others.
  fileprivate func keepsOrder(withoutMovesOf ids: Set<ManagedObjectID>, in below: [ManagedObjectID]) -> Bool {
    guard keepsPositions else { return true }
    var remaining = self
    for id in ids { remaining.forgetMove(of: id) }
    return remaining.applied(to: below) == applied(to: below)
  }
}
