/// What a save wants to change of one record: what the record says, unless other terms were found for it.
struct RecordChange {
  /// Kept by whoever gathered the change, for as long as it is in use.
  unowned(unsafe) let record: PendingRecord
  /// What is written instead of what the record says.
  private let terms: Terms?

  private final class Terms {
    let kind: PendingRecord.Kind
    let base: Row?
    let changed: SlotSet
    let row: Row?

    init(_ kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet) {
      self.kind = kind
      self.base = base
      self.changed = changed
      self.row = row ?? base
    }
  }

  /// What the record says, whose draft is sealed if it is written.
  init(_ record: PendingRecord) {
    self.record = record
    terms = nil
  }

  /// - Parameter row: The row to write, references permanent; `nil` for the base.
  init(_ record: PendingRecord, kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet) {
    self.record = record
    terms = Terms(kind, base: base, row: row, changed: changed)
  }

  var entity: EntityDescription { record.entity }
  /// The record's permanent identifier.
  var id: ManagedObjectID { record.permanentID }
  var kind: PendingRecord.Kind { terms?.kind ?? record.kind }
  /// The row that the store is expected to have.
  var base: Row? { if let terms { terms.base } else { record.base } }
  /// The slots that differ from the base.
  var changed: SlotSet { terms?.changed ?? record.changed }
  /// The row to write; for a delete and for a change of links alone, the base.
  var row: Row? { if let terms { terms.row } else { record.isWritten ? record.draft : record.base } }

  /// Whether the save writes ``row``.
  var isWritten: Bool {
    guard let terms else { return record.isWritten }
    return terms.kind == .inserted || (terms.kind == .updated && !terms.changed.isEmpty)
  }

  /// The version of the row to write.
  static func version(after base: Row?) -> Int64 { (base?.version ?? 0) + 1 }
}
