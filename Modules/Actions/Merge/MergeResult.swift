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
}
