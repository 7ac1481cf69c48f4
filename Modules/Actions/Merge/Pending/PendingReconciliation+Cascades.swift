import CoherenceCore

// Records with pending edits that only the delete rule of a deleted record reaches. By the model, the server has deleted
// them too, although the input does not say so.

extension PendingReconciliation {
  /// Whether a pending edit keeps its record although a delete rule reaches it. The input does not name the record, so
  /// that the record may be newer than the input after the confirmation of its edit.
  func opposesCascade(_ edit: PendingEdit) -> Bool {
    switch edit.kind {
    case .insert: true
    case .update: edit.isFixed || policy != .server
    case .delete: false
    }
  }

  /// Counts a kept edit, and decides over an edit that loses or becomes a conflict. Without effect on an edit that keeps
  /// its record from a deletion by the input itself, because the reconciliation has counted and decided already.
  ///
  /// - Parameter isKept: Whether the record stays.
  func decide(overCascadeTo edit: PendingEdit, isKept: Bool) {
    if keptRecords.contains(edit.recordID) { return }
    if isKept { keptCount += 1 }
    guard edit.kind == .update, !edit.isFixed else { return }
    decide(
      over: edit, serverValues: nil, discarded: isKept ? [] : edit.changed, isConflict: isKept,
      endsConflict: !isKept && edit.conflict != nil)
  }

  /// Keeps the edits of records that the input would delete and that stay as required owners. Without a deletion, no
  /// edit of such a record is discarded.
  func keepEdits(of owners: Set<ManagedObjectID>) {
    keptCount += decisions.count { owners.contains($0.edit.recordID) }
    forgetDecisions(over: owners)
  }
}
