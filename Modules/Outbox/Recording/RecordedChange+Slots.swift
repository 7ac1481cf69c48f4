import CoherenceCore

extension RecordedChange {
  /// Whether the entry of the change has the value of a slot. A value that the server assigns is only in the entry of a
  /// delete, as a value from before: a request for a delete may need it, and the record is gone.
  @inline(__always) func isRecorded(_ slot: Int, isServerAssigned: Bool) -> Bool {
    switch kind {
    case .inserted: !isServerAssigned
    case .updated: !isServerAssigned && changedSlots.contains(slot)
    case .deleted: true
    }
  }
}
