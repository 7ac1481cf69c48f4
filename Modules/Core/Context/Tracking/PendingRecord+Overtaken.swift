// The refresh of an edited record from saves of other writers, and the record of the edits that conflict with these
// saves.

extension PendingRecord {
  /// Refreshes the record from a row that another writer saved. The edits stay on top of the row. Edits of properties
  /// that the row changes are overtaken, unless the row has the edited value already.
  ///
  /// Called under the context's lock.
  ///
  /// - Parameters:
  ///   - row: The row below the edits, with the unsaved edits of parents.
  ///   - stored: The row without the edits of parents; `nil` if it is unknown.
  ///   - parents: The unsaved edits of parents. An edit of the same property is based on the parent's edit, and is
  ///     overtaken together with it.
  ///   - combined: The slots whose edits stay edits even if the row has the edited value, because a merge rule combines
  ///     both.
  func refresh(from row: Row, stored: Row?, below parents: [ParentEdits], combining combined: SlotSet) {
    guard let base, base.version < row.version else { return }
    // A delete is based on the whole record. It keeps its base, so that every change of the record conflicts with the
    // delete.
    guard kind != .deleted else {
      // No other writer can have changed a record between a parent's insert and its first save.
      let isKnown = (base.version == 0 && row.version == 1) || row.version == versionReadByChild
      let saved = stored ?? row
      if isKnown || hasContent(of: saved) { self.base = saved }
      return
    }
    var overtaken = overtaken ?? OvertakenEdits(madeOn: base.version)
    for slot in changed where !isPosition(slot) {
      let inherited = parents.origin(of: slot)
      let origin = overtaken[slot] ?? inherited ?? base[slot]
      if inherited == nil {
        if row[slot] == origin { overtaken.forget(slot) } else { overtaken.note(slot, madeOn: origin) }
      } else if let stored, stored[slot] != base[slot] {
        if stored[slot] == origin { overtaken.forget(slot) } else { overtaken.note(slot, madeOn: origin) }
      }
    }
    self.overtaken = overtaken.isEmpty ? nil : overtaken
    rebase(onto: row, combining: combined)
  }

  /// Makes the present base the ancestor of all edits, so that no edit is overtaken any more. Edits equal to the base,
  /// which a merge rule would have combined with the save of another writer, are no changes any more.
  func acceptBase() {
    overtaken = nil
    hasAcceptedBase = true
    // A child's edit may be based on a later row than the base, and revert that row to the values of the base.
    if let base, base.version >= versionReadByChild {
      for slot in changed where base[slot] == draft[slot] { changed.remove(slot) }
    }
    restartLists()
  }

  /// Records the overtaken edits of a child context, before the edits themselves are applied. A child based on an older
  /// state does not know the saves since then. A child based on a newer state knows saves that this context has not
  /// merged: its edits are based on the newer values.
  ///
  /// A child's edit replaces an unsaved edit of this context without a conflict.
  ///
  /// - Parameter current: Replaces the former identifier in a value by the present identifier.
  func noteOvertaken(of child: PendingRecord, current: (AttributeValue) -> AttributeValue) {
    guard let base, let childBase = child.base else { return }
    let readVersion = max(childBase.version, child.versionReadByChild)
    versionReadByChild = child.kind == .deleted ? readVersion : max(versionReadByChild, readVersion)
    guard childBase.version != base.version || child.overtaken != nil else { return }
    let version = min(child.overtaken?.version ?? childBase.version, base.version)
    var overtaken = overtaken ?? OvertakenEdits(madeOn: version)
    for slot in child.editedSlots where !changed.contains(slot) && !isPosition(slot) {
      // At an equal version, another value in the base is an unsaved edit of a parent.
      let seen = childBase.version == base.version ? nil : current(childBase[slot])
      guard let origin = child.overtaken?[slot] ?? seen, origin != base[slot] else { continue }
      overtaken.note(slot, madeOn: origin, version: version)
    }
    self.overtaken = overtaken.isEmpty ? nil : overtaken
  }

  /// Applies a child's edit of a slot, after ``noteOvertaken(of:current:)``.
  ///
  /// An overtaken edit to the value that the base has already is no conflict where properties are compared. Elsewhere it
  /// stays an overtaken edit, because both writers may have counted from one number to the next.
  ///
  /// - Parameters:
  ///   - combined: The slots whose edits stay edits even if the base has the edited value, because a merge rule combines
  ///     both.
  ///   - comparesProperties: Whether the context of the record compares properties, and not the versions of records.
  func apply(
    _ value: AttributeValue, at slot: Int, of child: PendingRecord, _ combined: SlotSet, _ comparesProperties: Bool
  ) {
    let noted = overtaken
    let isOwnEdit = changed.contains(slot)
    set(value, at: slot)
    guard noted?[slot] != nil, let base, let childBase = child.base, value == base[slot] else { return }
    // The child may have set a value that this context has not merged back to the value of the base.
    let isRevert = max(childBase.version, child.versionReadByChild) > base.version
    let isCounted = combined.contains(slot) || !comparesProperties && !isOwnEdit
    guard isRevert || isCounted else { return }
    changed.insert(slot)
    overtaken = noted
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
