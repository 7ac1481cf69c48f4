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
  /// also count as updated or deleted, unless the policy gave up the merge's change, or only a delete rule or a link of
  /// another record changes them.
  public internal(set) var conflicts = 0

  /// Records whose pending edits the merge kept against its input: at least one property, the record itself, or its
  /// deletion. A record without another change counts as skipped too, unless only a delete rule would have deleted it.
  public internal(set) var keptEdits = 0
  /// Records with pending edits over which a user has to decide; see ``MergeOptions/PendingEditsPolicy``.
  public internal(set) var pendingConflicts = 0
  /// Input records and deletions by the server that wait for the end of a pending edit. Partial input with such a record
  /// has to be merged again when the edit has ended; whole input comes again anyway. A record waits
  ///
  /// - if the merge left the record out, or a link of it, because the record itself or a record that it names was
  ///   deleted here, or because a partner has another partner here,
  /// - if an edit of the record is on its way to the server: the reply may be older than the input,
  /// - if the server has deleted the record, and a record with an edit requires it as its owner,
  /// - if the record is new, and the reply to an insert is missing: the reply may give the insert the record's key,
  /// - if an unsent edit keeps a value of the server out without a conflict, or if a page of changes has the edited
  ///   value already: a user who takes the edit back sends nothing, so that only the input has the server's value.
  public internal(set) var postponed = 0
  /// The links to missing records that the merge left out; see ``MergeOptions/MissingTargetPolicy/leaveOut``.
  public internal(set) var missingLinks = 0

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
    left.postponed += right.postponed
    left.missingLinks += right.missingLinks
  }
}
