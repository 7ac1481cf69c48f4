/// What a parent context has not saved of a record, as its children read it.
struct InheritedRecord {
  /// The record in the parent's eyes.
  let row: Row
  let isDeleted: Bool
  /// The slots that the parent edited.
  let edits: SlotSet
  /// Whether the parent may have edited an older version than the store has by now: it did not take in yet what others
  /// saved.
  var mayBeBehind = false

  init(_ record: PendingRecord) {
    row = record.snapshot
    isDeleted = record.kind == .deleted
    edits = record.changed
  }

  /// The parent's edits on top of what the store has now.
  func caughtUp(with stored: Row?) -> Row {
    guard var result = stored, result.version > row.version else { return row }
    for slot in edits { result.set(row[slot], at: slot) }
    return result
  }
}

extension ManagedObjectContext {
  /// What the nearest parent with unsaved changes of a record has of it.
  final func inheritedRecord(of id: ManagedObjectID) -> InheritedRecord? {
    var ancestor = parent
    while let context = ancestor {
      ancestor = context.parent
      let storage = context.storage
      if let record = storage.withPending({ storage.recordUnderLock(for: id).map(InheritedRecord.init) }) {
        return marked(record, from: context)
      }
    }
    return nil
  }

  /// The same, knowing whether it may be behind.
  final func marked(_ record: InheritedRecord, from context: ManagedObjectContext) -> InheritedRecord {
    // A snapshot must not see newer rows, and a fresh record has none.
    guard !record.isDeleted, record.row.version > 0, lease.pins == 0, !context.inbox.isEmpty else { return record }
    var result = record
    // What a farther parent edited is in the row already, and in no store.
    result.mayBeBehind = context.inheritedRecord(of: record.row.id) == nil
    return result
  }

  /// Rows of records with unsaved changes in parents, with one read for each store for rows possibly behind.
  final func rows(of records: [InheritedRecord]) throws -> [Row] {
    let behind = records.filter(\.mayBeBehind)
    guard !behind.isEmpty else { return records.map(\.row) }
    let stored = Dictionary(
      try committedRows(behind.map(\.row.id)).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return records.map { $0.mayBeBehind ? $0.caughtUp(with: stored[$0.row.id]) : $0.row }
  }
}
