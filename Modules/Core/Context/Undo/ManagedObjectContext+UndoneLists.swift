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
      !changes.keepsPositions, !changes.removed.isEmpty, let below = object.loadedList(of: list.relationship)
    else { return }
    let restored = changes.removed.filter {
      changes.contains($0) == true && below.contains($0) && hasSavedPosition($0, in: list.relationship)
    }
    guard !restored.isEmpty else { return }
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
