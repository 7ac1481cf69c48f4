/// A parent context's unsaved edits of a record, for a child that saves into the store past the parent.
struct ParentEdits {
  /// The row below the edits.
  let base: Row
  let slots: SlotSet
  private let overtaken: OvertakenEdits?

  /// The edits of a record; `nil` for a record without a state below the parent.
  init?(_ record: PendingRecord) {
    guard let base = record.base else { return nil }
    self.base = base
    slots = record.changed
    overtaken = record.overtaken
  }

  /// The value that the edit of a slot was made on; `nil` for a slot that the parent has not edited.
  fileprivate func origin(of slot: Int) -> AttributeValue? {
    slots.contains(slot) ? overtaken?[slot] ?? base[slot] : nil
  }
}

extension [ParentEdits] {
  /// The stored value that the edit of a slot was made on; `nil` for a slot that no parent has edited. A nearer parent
  /// edits on top of a farther one.
  func origin(of slot: Int) -> AttributeValue? {
    for edits in reversed() {
      if let origin = edits.origin(of: slot) { return origin }
    }
    return nil
  }
}

/// The stored row below the unsaved edits of parents.
struct StoredBase {
  let row: Row
  /// The edits of the record that conflict with the row.
  let overtaken: OvertakenEdits?

  /// The version that the store must have for a save of the record.
  func version(for record: PendingRecord) -> Int64 {
    min(row.version, record.baseVersion, overtaken?.version ?? .max)
  }
}
