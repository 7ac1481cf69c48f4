// The refresh of an edited record from saves of other writers, and the record of the edits that conflict with these
// saves.

extension PendingRecord {
  /// Refreshes the record from a row that another writer saved. The edits stay on top of the row. Edits of properties
  /// that the row changes are overtaken, unless the row has the edited value already.
  ///
  /// Called under the context's lock.
  ///
  /// - Parameters:
  ///   - inherited: The slots whose values in the base are unsaved edits of a parent.
  ///   - combined: The slots whose edits stay edits even if the row has the edited value, because a merge rule combines
  ///     both.
  func refresh(from row: Row, keeping inherited: SlotSet, combining combined: SlotSet) {
    guard let base, base.version < row.version else { return }
    // A delete is based on the whole record. It keeps its base, so that every change of the record conflicts with the
    // delete.
    guard kind != .deleted else {
      // No other writer can have changed a record between a parent's insert and its first save.
      if (base.version == 0 && row.version == 1) || hasContent(of: row) { self.base = row }
      return
    }
    var overtaken = overtaken ?? OvertakenEdits(madeOn: base.version)
    for slot in changed where !isPosition(slot) && !inherited.contains(slot) {
      let origin = overtaken[slot] ?? base[slot]
      if row[slot] == origin { overtaken.forget(slot) } else { overtaken.note(slot, madeOn: origin) }
    }
    self.overtaken = overtaken.isEmpty ? nil : overtaken
    rebase(onto: row, combining: combined)
  }

  /// Makes the present base the ancestor of all edits, so that no edit is overtaken any more.
  func acceptBase() {
    overtaken = nil
    hasAcceptedBase = true
    restartLists()
  }

  /// Records the overtaken edits of a child context, before the edits themselves are applied. A child based on an older
  /// state does not know the saves since then.
  ///
  /// A child's edit replaces an unsaved edit of this context without a conflict.
  ///
  /// - Parameter current: Replaces the former identifier in a value by the present identifier.
  func noteOvertaken(of child: PendingRecord, current: (AttributeValue) -> AttributeValue) {
    guard let base, let childBase = child.base else { return }
    let version = child.overtaken?.version ?? childBase.version
    guard version < base.version else { return }
    var overtaken = overtaken ?? OvertakenEdits(madeOn: version)
    for slot in child.editedSlots where !changed.contains(slot) && !isPosition(slot) {
      let origin = child.overtaken?[slot] ?? current(childBase[slot])
      if origin != base[slot] { overtaken.note(slot, madeOn: origin, version: version) }
    }
    self.overtaken = overtaken.isEmpty ? nil : overtaken
  }

  /// The overtaken edits of a save that reaches the store directly, in a context with parents.
  ///
  /// The record was read with the parents' edits on top, which hide the store's present values.
  ///
  /// - Parameters:
  ///   - stored: The row below the parents' edits.
  ///   - parents: The parents' unsaved edits of the record.
  ///   - current: Gives a value the identifiers that records have now.
  func editsOvertaken(
    by stored: Row, below parents: [ParentEdits], current: (AttributeValue) -> AttributeValue
  ) -> OvertakenEdits? {
    guard let base else { return overtaken }
    // The version is lower than the stored one, so that the store detects the conflict also if the base, which a parent
    // has edited, is as new as the stored row.
    var overtaken = overtaken ?? OvertakenEdits(madeOn: min(base.version, stored.version &- 1))
    for slot in editedSlots where !isPosition(slot) && overtaken[slot] == nil {
      let seen = current(base[slot])
      if seen == stored[slot] { continue }
      if let origin = parents.origin(of: slot) {
        if origin != stored[slot], !hasAcceptedBase { overtaken.note(slot, madeOn: origin) }
      } else if base.version < stored.version {
        overtaken.note(slot, madeOn: seen)
      }
    }
    return overtaken.isEmpty ? nil : overtaken
  }

  /// The slots that the record changes: all of them for a delete.
  private var editedSlots: SlotSet { kind == .deleted ? SlotSet(0..<draft.count) : changed }

  /// Whether a slot is a position in an owner's list. The list is a value of the owner, whose version detects
  /// conflicts.
  private func isPosition(_ slot: Int) -> Bool {
    if case .position = entity.slots[slot] { true } else { false }
  }

  /// Whether a row proves that the record has the same values as the base. `false` for a record with ordered lists,
  /// whose values are not in the row.
  private func hasContent(of row: Row) -> Bool {
    !entity.relationships.contains { $0.isToMany && $0.isOrdered } && base?.values == row.values
  }
}
