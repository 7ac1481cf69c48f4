/// The changes that a merge made in its context, before they are saved.
struct UnsavedMerge {
  var result: MergeResult
  /// Checks the changes again during the save; `nil` for a merge that neither updates nor deletes a record, nor decides
  /// over pending edits.
  let check: CommitCheck?
}
