/// The records that a save writes into stores: the unsaved records of the context, and records that parents have moved
/// away from its deleted records.
struct GatheredRecords {
  let records: [PendingRecord]
  /// The stored row below the unsaved edits of parents, for each record; empty for a context without a parent. `nil`
  /// for a record whose base is the stored row.
  let bases: [StoredBase?]
}

extension ManagedObjectContext {
  /// Gathers the unsaved records, without records that a parent has inserted and not saved: the parent saves these.
  /// Adds records that still refer in the store to deleted records, because the store would refuse the deletes; see
  /// ``membersMovedByParents(in:)``.
  ///
  /// - Throws: ``ErrorCode/danglingReference`` for an edit or a delete of such a record; errors of the store from reads of
  ///   the rows below parents' edits.
  final func gatherRecords() throws -> GatheredRecords {
    guard parent != nil else { return GatheredRecords(records: storage.records, bases: []) }
    let unsaved = storage.records.filter { !$0.isUnchanged }
    let records = unsaved.filter { !isParentsInsert($0) }
    if records.count < unsaved.count { try refuseEditsOfParentsInserts(unsaved) }
    let bases = try storedBases(of: records)
    let moved = try membersMovedByParents(in: records)
    return GatheredRecords(records: records + moved, bases: bases + moved.map { _ in nil })
  }

  /// Refuses a save that would leave an edit of this context behind.
  private final func refuseEditsOfParentsInserts(_ records: [PendingRecord]) throws {
    let refused = records.filter { $0.isEditOfItsOwn && isParentsInsert($0) }
    guard let first = refused.first else { return }
    var error = CoherenceError(
      .danglingReference,
      "An object of '\(first.entity.name)' was \(first.kind == .deleted ? "deleted" : "changed"), but a parent context has "
        + "inserted it and not saved it. Save the parent first, then this context in a new block; or leave out such objects "
        + "by fetching without pending changes.")
    error.objectIDs = refused.map(\.id)
    throw error
  }
}

extension PendingRecord {
  /// Whether the record is deleted, or has a changed attribute or a new target. Changed members are no edits of the
  /// record, because the members' references have them; delete rules clear references, and lists move positions.
  fileprivate var isEditOfItsOwn: Bool {
    if kind == .deleted { return true }
    return changed.contains { slot in
      switch entity.slots[slot] {
      case .attribute: true
      case .reference: !draft[slot].isNull
      case .position: false
      }
    }
  }
}
