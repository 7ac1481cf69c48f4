/// What a merge did, in records.
public struct MergeResult: Sendable, Hashable {
  public internal(set) var inserted = 0
  /// Records of which something really changed.
  public internal(set) var updated = 0
  /// Records that were as the input says already; they were not written.
  public internal(set) var unchanged = 0
  public internal(set) var deleted = 0
  /// Records that the condition protected, and input records that were left out by a policy.
  public internal(set) var skipped = 0
  /// Records that somebody else changed or deleted while the merge was at work, so that the context's merge policy
  /// decided. They are among the updated and deleted ones, unless the policy gave up what the merge wanted of them.
  public internal(set) var conflicts = 0

  /// Nothing was done.
  public init() {}

  /// What two merges did together, page by page say.
  public static func += (left: inout MergeResult, right: MergeResult) {
    left.inserted += right.inserted
    left.updated += right.updated
    left.unchanged += right.unchanged
    left.deleted += right.deleted
    left.skipped += right.skipped
    left.conflicts += right.conflicts
  }
}
