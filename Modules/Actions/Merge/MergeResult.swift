/// The counts of a merge, in records.
public struct MergeResult: Sendable, Hashable {
  /// Input records that became new records.
  public internal(set) var inserted = 0
  /// Records with at least one changed property.
  public internal(set) var updated = 0
  /// Records equal to their input, which were not written.
  public internal(set) var unchanged = 0
  /// Stored records that the merge deleted.
  public internal(set) var deleted = 0
  /// Records that the condition, local edits or pending edits protected, and input records that a policy left out.
  public internal(set) var skipped = 0
  /// Records that another writer changed or deleted during the merge, so that the context's merge policy decided. They
  /// also count as updated or deleted, unless the policy gave up the merge's change.
  public internal(set) var conflicts = 0

  /// Records whose pending edits the merge kept against its input: at least one property, the record itself, or its
  /// deletion. A record without another change counts as skipped too.
  public internal(set) var keptEdits = 0
  /// Records with pending edits over which a user has to decide; see ``MergeOptions/PendingEditsPolicy``.
  public internal(set) var pendingConflicts = 0

  /// The result of a merge without any change.
  public init() {}

  /// Adds the counts of another merge, for example of the next page.
  public static func += (left: inout MergeResult, right: MergeResult) {
    left.inserted += right.inserted
    left.updated += right.updated
    left.unchanged += right.unchanged
    left.deleted += right.deleted
    left.skipped += right.skipped
    left.conflicts += right.conflicts
    left.keptEdits += right.keptEdits
    left.pendingConflicts += right.pendingConflicts
  }
}
