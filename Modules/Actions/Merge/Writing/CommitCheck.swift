import CoherenceCore
import CoherenceReconciliation

/// Checks the records of a plan again during the save, if another writer has changed them since the plan was made:
/// whether the merge's condition and filter still allow the change, and whether the records still have their keys. With
/// a source of pending edits, a changed record is always protected, because the change may be an edit of the user.
final class CommitCheck: @unchecked Sendable {
  // Sendable: a single save uses the check, on the thread of the merge, which waits for the save.

  /// A record of the plan.
  private struct PlannedRecord {
    /// The index of the input record; `nil` for a record to delete.
    let index: Int?
    /// The record's row when the plan was made.
    let row: Row
  }

  private let plan: MergePlan
  private let basis: MergeBasis
  private let filter: PreparedPredicate?
  /// Whether a change of another writer may be an edit that the server has to get. Such a change is never overwritten.
  private let respectsPendingEdits: Bool
  /// The planned records. Made at the first conflict, because most merges have none.
  private lazy var records = plannedRecords()
  /// Whether a protected record makes the merge plan again. Otherwise the save leaves out that record alone, and the
  /// effects of its deletion on other records stay.
  var plansAgain = false
  /// Whether a changed record gets every value of the input, also the values that the plan does not write because the
  /// record had them. The policy of the save would keep another writer's values there: the record would mix two states.
  var completesInput = false
  /// The records that the save left out, because the condition, the filter or a possible pending edit protects them
  /// now.
  private(set) var protectedIDs: Set<ManagedObjectID> = []

  init(of plan: MergePlan, from basis: MergeBasis, respectsPendingEdits: Bool) throws {
    self.plan = plan
    self.basis = basis
    self.respectsPendingEdits = respectsPendingEdits
    filter = try basis.scope.subsetFilter.map { try PreparedPredicate($0, for: basis.layout.entity) }
  }

  /// The records that the plan updates or deletes.
  var plannedIDs: Set<ManagedObjectID> { plan.recordIDs }

  private func plannedRecords() -> [ManagedObjectID: PlannedRecord] {
    let updates = plan.updates.map { ($0.row.id, PlannedRecord(index: $0.index, row: $0.row)) }
    let deletes = plan.deletes.map { ($0.id, PlannedRecord(index: nil, row: $0)) }
    return Dictionary(updates + deletes, uniquingKeysWith: { first, _ in first })
  }

  /// Whether the save may still change a record. A merge plans again for a record that would mix values of the input and of
  /// another writer.
  ///
  /// - Throws: ``ErrorCode/versionConflict`` for a protected record, if the merge plans again; and for a record whose
  ///   key another writer has changed, because the plan was made for the former key.
  func allows(_ conflict: Conflict) throws -> Bool {
    if respectsPendingEdits {
      if plansAgain {
        throw lostRaceError("a record of '\(conflict.objectID.entity.name)', which may have a pending edit now")
      }
      guard records[conflict.objectID] == nil else {
        protectedIDs.insert(conflict.objectID)
        return false
      }
      return true
    }
    guard let planned = records[conflict.objectID], let row = conflict.store else { return true }
    try checkKey(of: row, planned)
    if try satisfiesConditions(row, planned) {
      if plansAgain, completesInput, try wouldMixValues(row, planned) {
        throw lostRaceError("a record of '\(basis.layout.entity.name)' in a property that was equal to the input")
      }
      return true
    }
    if plansAgain {
      throw lostRaceError("a record of '\(basis.layout.entity.name)', which the condition or the filter protects now")
    }
    protectedIDs.insert(conflict.objectID)
    return false
  }

  private func satisfiesConditions(_ row: Row, _ planned: PlannedRecord) throws -> Bool {
    if planned.index == nil, let filter, try !basis.context.satisfies(filter, stored: row) { return false }
    return try basis.condition.isSatisfied(by: row, index: planned.index, input: basis.input)
  }

  /// Whether another writer has changed a value of the input that the plan does not write. A row does not show its
  /// members, so that a record with a list in the input counts too.
  private func wouldMixValues(_ row: Row, _ planned: PlannedRecord) throws -> Bool {
    guard let index = planned.index else { return false }
    var values: [AttributeValue?] = []
    try basis.input.readValues(index, into: &values, isChecked: true)
    for (relationship, link) in try basis.input.links(index) where !basis.layout.ignores(relationship) {
      guard let slot = relationship.slot else { return true }
      switch link.keys.first.flatMap({ plan.targets.target($0, of: relationship, in: row.id.storeIdentifier) }) {
      case .existing(let id): values[slot] = .reference(id)
      // The plan writes the link to a new record, and leaves a missing record out.
      case .new, .deleted, .missing: continue
      case nil: values[slot] = .null
      }
    }
    for slot in basis.layout.ignoredSlots { values[slot] = nil }
    // A row of another subentity has only the slots of the merge's entity in common with the input record.
    let own = basis.input.entity(index)
    let count = row.entity.isKind(of: own) ? own.slotCount : basis.layout.entity.slotCount
    return (0..<min(count, values.count)).contains { slot in
      values[slot].map { planned.row[slot] == $0 && row[slot] != $0 } == true
    }
  }

  private func checkKey(of row: Row, _ planned: PlannedRecord) throws {
    let key = basis.layout.keySlots.map { row[$0] }
    if key == basis.layout.keySlots.map({ planned.row[$0] }) { return }
    // A deletion stays correct while the input has no record with the new key either.
    if planned.index == nil, !key.isIncompleteKey, try basis.inputByKey.index(of: key) == nil { return }
    throw lostRaceError("the key \(basis.layout.keyNames) of a record of '\(basis.layout.entity.name)'")
  }

  private func lostRaceError(_ subject: String) -> CoherenceError {
    CoherenceError(
      .versionConflict, "During the merge, another writer changed \(subject); merge again.", isRetryable: true)
  }
}
