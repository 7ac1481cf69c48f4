/// A parent context's unsaved edits of a record, for a child whose saves reach the store directly.
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

  /// The value on which the edit of a slot is based; `nil` for a slot that the parent has not edited.
  fileprivate func origin(of slot: Int) -> AttributeValue? {
    slots.contains(slot) ? overtaken?[slot] ?? base[slot] : nil
  }
}

extension [ParentEdits] {
  /// The stored value on which the edits of a slot are based; `nil` for a slot that no parent has edited. The farthest
  /// parent's edit is based on the stored value; nearer parents edit on top of it.
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

  /// The version on which a save of the record is based.
  func version(for record: PendingRecord) -> Int64 {
    min(row.version, record.baseVersion, overtaken?.version ?? .max)
  }
}
