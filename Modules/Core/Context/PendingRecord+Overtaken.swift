// Taking in what others saved of a record with edits, and keeping account of the edits that are a conflict by that.

extension PendingRecord {
  /// Takes in a row that somebody else saved. The edits stay on top of the row. The edits of properties that the row
  /// changes are overtaken, unless the row has the edited value already.
  ///
  /// Called under the context's lock.
  ///
  /// - Parameter inherited: The slots whose values in the base are edits of a parent, and not values of the store.
  func takeIn(_ row: Row, besides inherited: SlotSet) {
    guard let base, base.version < row.version else { return }
    // A delete is made on the whole record, so that it keeps its base: any change is one that the delete does not know.
    guard kind != .deleted else {
      if hasContent(of: row) { self.base = row }
      return
    }
    var overtaken = overtaken ?? OvertakenEdits(madeOn: base.version)
    for slot in changed where !isPlace(slot) && !inherited.contains(slot) {
      let origin = overtaken[slot] ?? base[slot]
      if row[slot] == origin { overtaken.forget(slot) } else { overtaken.note(slot, madeOn: origin) }
    }
    self.overtaken = overtaken.isEmpty ? nil : overtaken
    rebase(onto: row)
  }

  /// Makes the present base what all edits are made on, so that what came in is no conflict any more.
  func acceptBase() {
    overtaken = nil
    isAccepted = true
    restartLists()
  }

  /// Takes over which edits of a child context are overtaken, before the edits themselves. A child that has read an
  /// older state than this context has by now does not know of the saves in between.
  ///
  /// An edit that this context has made itself is replaced by the child's: that was never saved.
  ///
  /// - Parameter current: Gives a value the identifiers that records have now.
  func takeOverOvertaken(of child: PendingRecord, current: (AttributeValue) -> AttributeValue) {
    guard let base, let childBase = child.base else { return }
    let version = child.overtaken?.version ?? childBase.version
    guard version < base.version else { return }
    var overtaken = overtaken ?? OvertakenEdits(madeOn: version)
    for slot in child.editedSlots where !changed.contains(slot) && !isPlace(slot) {
      let origin = child.overtaken?[slot] ?? current(childBase[slot])
      if origin != base[slot] { overtaken.note(slot, madeOn: origin, version: version) }
    }
    self.overtaken = overtaken.isEmpty ? nil : overtaken
  }

  /// The edits that are overtaken when the record is saved past its parents.
  ///
  /// The record was read with the parents' edits, which hide what the store has by now.
  ///
  /// - Parameters:
  ///   - stored: The row below the parents' edits.
  ///   - parents: What the parents have edited of the record.
  ///   - current: Gives a value the identifiers that records have now.
  func editsOvertaken(
    by stored: Row, below parents: [ParentEdits], current: (AttributeValue) -> AttributeValue
  ) -> OvertakenEdits? {
    guard let base else { return overtaken }
    var overtaken = overtaken ?? OvertakenEdits(madeOn: min(base.version, stored.version - 1))
    for slot in editedSlots where !isPlace(slot) && overtaken[slot] == nil {
      let seen = current(base[slot])
      if seen == stored[slot] { continue }
      if let origin = parents.origin(of: slot) {
        if origin != stored[slot], !isAccepted { overtaken.note(slot, madeOn: origin) }
      } else if base.version < stored.version {
        overtaken.note(slot, madeOn: seen)
      }
    }
    return overtaken.isEmpty ? nil : overtaken
  }

  /// The slots that the record's changes are about: all of them for a delete.
  private var editedSlots: SlotSet { kind == .deleted ? SlotSet(0..<draft.count) : changed }

  /// Whether a slot is a place in the order of an owner. The order is a value of the owner, which finds its conflicts.
  private func isPlace(_ slot: Int) -> Bool {
    if case .position = entity.slots[slot] { true } else { false }
  }

  /// Whether a row has the same values as the base. Ordered lists are values too, and in no row.
  private func hasContent(of row: Row) -> Bool {
    !entity.relationships.contains { $0.isToMany && $0.isOrdered } && base?.values == row.values
  }
}
