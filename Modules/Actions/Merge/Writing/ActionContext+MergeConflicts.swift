import CoherenceCore
import Synchronization

extension ActionContext {
  /// Saves a merge, and counts the conflicts in its result. The context's own merge policy resolves them, or, where local
  /// edits win, the policy that keeps the stores' changes.
  func save(_ merge: inout UnsavedMerge, _ options: MergeOptions) throws {
    merge.check?.completesInput = options.conflictResolution == .incomingWins && mergePolicy.isObjectTrumps
    let log = ConflictLog()
    let policy = mergePolicy
    if options.conflictResolution == .localWins { mergePolicy = .storeTrumps }
    mergePolicy.observer = { log.append($0, isGivenUp: $1) }
    if let check = merge.check { mergePolicy.allows = { try check.allows($0) } }
    defer { mergePolicy = policy }
    try save()
    log.count(in: &merge.result, of: merge.check)
    merge.result.skipped += merge.check?.protectedIDs.count ?? 0
  }
}

/// The conflicts of one save, one per record.
private final class ConflictLog: Sendable {
  private struct Decision {
    let isDelete: Bool
    let isGivenUp: Bool
  }
  private let decisions = Mutex<[ManagedObjectID: Decision]>([:])

  /// - Parameter isGivenUp: Whether the policy gave up the merge's change.
  func append(_ conflict: Conflict, isGivenUp: Bool) {
    decisions.withLock {
      $0[conflict.objectID] = Decision(isDelete: conflict.mine == nil, isGivenUp: isGivenUp)
    }
  }

  /// Adds the conflicts to a result, and subtracts the planned changes that the policy gave up.
  ///
  /// - Parameter check: The check of the records that the merge itself updates or deletes. The result does not count
  ///   changes by delete rules and by links of other records.
  func count(in result: inout MergeResult, of check: CommitCheck?) {
    let decisions = decisions.withLock { $0 }
    result.conflicts = decisions.count
    let givenUp = decisions.filter(\.value.isGivenUp)
    // Few merges have conflicts, and the plan may have many records.
    guard !givenUp.isEmpty, let planned = check?.plannedIDs else { return }
    for (id, decision) in givenUp where planned.contains(id) {
      if decision.isDelete { result.deleted -= 1 } else { result.updated -= 1 }
    }
  }
}
