/// The changes that a merge made in its context, before they are saved.
struct UnsavedMerge {
  var result: MergeResult
  /// Checks the changes again during the save; `nil` for a merge without updates and deletions.
  let check: CommitCheck?
}
