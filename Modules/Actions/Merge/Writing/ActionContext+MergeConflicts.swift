import CoherenceCore
import Synchronization

extension ActionContext {
  /// Saves a merge, and enters in its result what the merge policy had to decide: the context's own, or, where local edits
  /// win, the one by which the stores' changes do.
  func save(_ merge: inout PlannedMerge, _ options: MergeOptions) throws {
    let met = MetConflicts()
    let policy = mergePolicy
    if options.conflictResolution == .localWins { mergePolicy = .storeTrumps }
    mergePolicy.observer = { met.note($0, isGivenUp: $1) }
    if let check = merge.check { mergePolicy.allows = { try check.allows($0) } }
    defer { mergePolicy = policy }
    try save()
    met.enter(in: &merge.result)
    merge.result.skipped += merge.check?.protectedIDs.count ?? 0
  }
}

/// The conflicts of one save, each record once.
private final class MetConflicts: Sendable {
  private struct Decision {
    let isDelete: Bool
    let isGivenUp: Bool
  }
  private let decisions = Mutex<[ManagedObjectID: Decision]>([:])

  func note(_ conflict: Conflict, isGivenUp: Bool) {
    decisions.withLock {
      $0[conflict.objectID] = Decision(isDelete: conflict.mine == nil, isGivenUp: isGivenUp)
    }
  }

  func enter(in result: inout MergeResult) {
    let decisions = decisions.withLock { $0.values }
    result.conflicts = decisions.count
    result.updated -= decisions.count { $0.isGivenUp && !$0.isDelete }
    result.deleted -= decisions.count { $0.isGivenUp && $0.isDelete }
  }
}
