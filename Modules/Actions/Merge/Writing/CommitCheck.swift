import CoherenceCore

/// Looks at the records of a merge's plan once more at the save, those that others have changed since the plan was made:
/// whether the merge's condition and filter still hold for them, and whether they are still the records of their keys.
final class CommitCheck: @unchecked Sendable {
  // Sendable: a check is used by one save alone, on the thread of the merge, which waits for the save.

  /// A record of the plan.
  private struct Planned {
    /// The place of the input record; `nil` for a record to delete.
    let place: Int?
    /// The record as it was when the plan was made.
    let row: Row
  }

  private let condition: MergeCondition
  private let filter: PreparedPredicate?
  private let layout: MergeLayout
  private let input: any MergeInput
  private let context: ActionContext
  private var index: MergeIndex
  private let work: MergeWork
  /// The planned records. Made at the first conflict, which most merges do not meet.
  private lazy var records = plannedRecords()
  /// Whether the merge is planned again when a record is protected by now. Otherwise the record alone is left out: what its
  /// deletion changed of others stays.
  var isRepeatable = false
  /// The records that were left out because the condition or the filter protects them by now.
  private(set) var protectedIDs: Set<ManagedObjectID> = []

  init(
    of work: MergeWork, scope: MergeScope, condition: MergeCondition, layout: MergeLayout, index: MergeIndex,
    input: any MergeInput, context: ActionContext
  ) throws {
    self.condition = condition
    self.layout = layout
    self.index = index
    self.input = input
    self.context = context
    self.work = work
    filter = try scope.subsetFilter.map { try PreparedPredicate($0, for: layout.entity) }
  }

  private func plannedRecords() -> [ManagedObjectID: Planned] {
    let updates = work.updates.map { ($0.row.id, Planned(place: $0.place, row: $0.row)) }
    let deletes = work.deletes.map { ($0.id, Planned(place: nil, row: $0)) }
    return Dictionary(updates + deletes, uniquingKeysWith: { first, _ in first })
  }

  /// Whether the change of a record may still be made.
  ///
  /// - Throws: ``ErrorCode/versionConflict`` for a record that is protected by now, if the merge is planned again then; and
  ///   for a record whose key another writer has changed, so that the plan is not one for this record.
  func allows(_ conflict: Conflict) throws -> Bool {
    guard let planned = records[conflict.objectID], let row = conflict.store else { return true }
    try checkKey(of: row, planned)
    if try isAdmitted(row, planned) { return true }
    if isRepeatable { throw lostRace("a record of '\(layout.entity.name)', which the merge must not touch any more") }
    protectedIDs.insert(conflict.objectID)
    return false
  }

  private func isAdmitted(_ row: Row, _ planned: Planned) throws -> Bool {
    if planned.place == nil, let filter, try !context.satisfies(filter, stored: row) { return false }
    return try condition.admits(row, place: planned.place, input: input)
  }

  private func checkKey(of row: Row, _ planned: Planned) throws {
    let key = layout.keySlots.map { row[$0] }
    if key == layout.keySlots.map({ planned.row[$0] }) { return }
    if planned.place == nil, !key.isIncompleteKey, try index.place(of: key) == nil { return }
    throw lostRace("the \(layout.keyNames) of a record of '\(layout.entity.name)'")
  }

  private func lostRace(_ subject: String) -> CoherenceError {
    CoherenceError(
      .versionConflict, "Another writer changed \(subject) during the merge; merge again.", isRetryable: true)
  }
}
