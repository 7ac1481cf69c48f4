/// An unsaved record of a parent context, as child contexts read it.
struct InheritedRecord {
  /// The row with the parent's changes.
  let row: Row
  let isDeleted: Bool
  /// The slots that the parent changed.
  let edits: SlotSet
  /// Whether the parent's changes may be based on an older version than the store's, because the parent has not applied
  /// all saves in its inbox.
  var mayBeBehind = false

  init(_ record: PendingRecord) {
    row = record.snapshot
    isDeleted = record.kind == .deleted
    edits = record.changed
  }

  /// Returns the parent's changes applied to the present row of the store, if that row is newer.
  func caughtUp(with stored: Row?) -> Row {
    guard var result = stored, result.version > row.version else { return row }
    for slot in edits { result.set(row[slot], at: slot) }
    return result
  }
}

extension ManagedObjectContext {
  /// The unsaved record of the nearest parent with unsaved changes; `nil` for none.
  final func inheritedRecord(of id: ManagedObjectID) -> InheritedRecord? {
    var ancestor = readParent
    while let context = ancestor {
      ancestor = context.parent
      let storage = context.storage
      // Before the record is read: the parent may apply its inbox at any time.
      let isBehind = context.inbox.hasUnapplied
      // Reverted changes leave the stored record, for this read as for a fetch.
      let record = storage.withPending {
        storage.recordUnderLock(for: id).flatMap { $0.isUnchanged ? nil : InheritedRecord($0) }
      }
      if let record { return isBehind ? markedAsBehind(record, from: context) : record }
    }
    return nil
  }

  /// Returns the record of a parent that had unapplied saves, with ``InheritedRecord/mayBeBehind`` set if a stored row
  /// may replace the record's.
  final func markedAsBehind(_ record: InheritedRecord, from context: ManagedObjectContext) -> InheritedRecord {
    // A snapshot must not see newer rows, and an inserted record has no row in a store.
    guard !record.isDeleted, record.row.version > 0, lease.pins == 0 else { return record }
    var result = record
    // With changes of a farther parent, the row differs from every stored row.
    result.mayBeBehind = context.inheritedRecord(of: record.row.id) == nil
    return result
  }

  /// Returns the rows of inherited records, with one read for each store for records possibly behind it.
  final func rows(of records: [InheritedRecord]) throws -> [Row] {
    let behind = records.filter(\.mayBeBehind)
    guard !behind.isEmpty else { return records.map(\.row) }
    let stored = Dictionary(
      try committedRows(behind.map(\.row.id)).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return records.map { $0.mayBeBehind ? $0.caughtUp(with: stored[$0.row.id]) : $0.row }
  }

  /// Returns a stored row with the unsaved changes of all parents on top, although the parents may have read an older
  /// row; `nil` for a record deleted by a parent.
  final func belowRow(_ stored: Row) -> Row? {
    var parents: [InheritedRecord] = []
    var ancestor = readParent
    while let context = ancestor {
      let storage = context.storage
      if let record = storage.withPending({ storage.recordUnderLock(for: stored.id).map(InheritedRecord.init) }) {
        parents.append(record)
      }
      ancestor = context.parent
    }
    var result = stored
    for record in parents.reversed() {
      guard !record.isDeleted else { return nil }
      result = record.caughtUp(with: result)
    }
    return result
  }
}
