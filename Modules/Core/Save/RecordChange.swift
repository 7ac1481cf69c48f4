/// What a save wants to change of one record: what the record says, unless other terms were found for it.
struct RecordChange {
  // Kept by whoever gathered the change, for as long as it is in use, so that references need not be counted.
  private let unmanaged: Unmanaged<PendingRecord>
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
    unmanaged = Unmanaged.passUnretained(record)
    terms = nil
  }

  /// - Parameter row: The row to write, references permanent; `nil` for the base.
  init(_ record: PendingRecord, kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet) {
    unmanaged = Unmanaged.passUnretained(record)
    terms = Terms(kind, base: base, row: row, changed: changed)
  }

  var record: PendingRecord { unmanaged.takeUnretainedValue() }
  var entity: EntityDescription { unmanaged._withUnsafeGuaranteedRef { $0.entity } }
  var object: ManagedObject? { unmanaged._withUnsafeGuaranteedRef { $0.object } }
  /// Whether members of to-many relationships were added or removed.
  var hasMembers: Bool { unmanaged._withUnsafeGuaranteedRef { $0.hasMembers } }
  /// The record's permanent identifier.
  var id: ManagedObjectID { unmanaged._withUnsafeGuaranteedRef { $0.permanentID } }
  var kind: PendingRecord.Kind { terms?.kind ?? unmanaged._withUnsafeGuaranteedRef { $0.kind } }
  /// The row that the store is expected to have.
  var base: Row? { if let terms { terms.base } else { unmanaged._withUnsafeGuaranteedRef { $0.base } } }
  /// The slots that differ from the base.
  var changed: SlotSet { terms?.changed ?? unmanaged._withUnsafeGuaranteedRef { $0.changed } }
  /// The row to write; for a delete and for a change of links alone, the base.
  var row: Row? {
    if let terms { return terms.row }
    return unmanaged._withUnsafeGuaranteedRef { $0.isWritten ? $0.draft : $0.base }
  }

  /// Whether the save writes ``row``.
  var isWritten: Bool {
    guard let terms else { return unmanaged._withUnsafeGuaranteedRef { $0.isWritten } }
    return terms.kind == .inserted || (terms.kind == .updated && !terms.changed.isEmpty)
  }

  /// Has the record give up its object: the save is through.
  func retire() { unmanaged._withUnsafeGuaranteedRef { $0.object = nil } }

  /// The version of the row to write.
  static func version(after base: Row?) -> Int64 { (base?.version ?? 0) + 1 }
}
