/// The changes that a merge made in its context, ready to be saved.
struct PlannedMerge {
  var result: MergeResult
  /// Looks at the changes again at the save; `nil` without changes.
  let check: CommitCheck?
}
