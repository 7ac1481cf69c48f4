/// The unsaved records that a save writes into stores.
struct GatheredRecords {
  let records: [PendingRecord]
  /// The stored row below the unsaved edits of parents, for each record; empty for a context without a parent. `nil` for
  /// a record whose base is the stored row.
  let bases: [StoredBase?]
}

extension ManagedObjectContext {
  /// Gathers the unsaved records, without records that a parent has inserted and not saved: the parent saves these.
  ///
  /// - Throws: Errors of the store from reads of the rows below parents' edits.
  final func gatherRecords() throws -> GatheredRecords {
    guard parent != nil else { return GatheredRecords(records: storage.records, bases: []) }
    let records = storage.records.filter { !$0.isUnchanged && !isParentsInsert($0) }
    let bases = try records.map { try storedBase(of: $0) }
    let moved = try membersMovedByParents(in: records)
    return GatheredRecords(records: records + moved, bases: bases + moved.map { _ in nil })
  }
}
