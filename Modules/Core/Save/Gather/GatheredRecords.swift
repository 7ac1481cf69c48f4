/// The unsaved records that a save writes into stores.
struct GatheredRecords {
  let records: [PendingRecord]
  /// The stored row below the unsaved edits of parents, for each record; empty for a context without a parent.
  let bases: [StoredBase?]
}

extension ManagedObjectContext {
  /// Gathers the unsaved records. Those that a parent has inserted and not saved are the parent's to save.
  ///
  /// - Throws: Errors of the store, which a nested context asks for the rows below its parents' edits.
  final func gatherRecords() throws -> GatheredRecords {
    guard parent != nil else { return GatheredRecords(records: storage.records, bases: []) }
    let records = storage.records.filter { !$0.isUnchanged && !isParentsInsert($0) }
    return GatheredRecords(records: records, bases: try records.map { try storedBase(of: $0) })
  }
}
