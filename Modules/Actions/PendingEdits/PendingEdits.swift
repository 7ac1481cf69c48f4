public import CoherenceCore

/// A source of local edits that a server has not confirmed yet, for example an outbox.
///
/// A ``Connect`` with a source asks the source in every merge, so that no page of the server overwrites a pending edit
/// or restores a locally deleted record. ``MergeOptions/pendingEdits`` decides about properties with changes on both
/// sides.
public protocol PendingEdits: AnyObject, Sendable {
  /// Whether records of the entity or of its subentities can have pending edits. Asked for each merge, on its thread;
  /// should be quick and must not read.
  func covers(_ entity: EntityDescription) -> Bool

  /// Returns the pending edits of the question's records, at most one for each record.
  ///
  /// Called in the context on its thread, several times in a merge: for the inserts and deletions of the merge's
  /// entity, for the records that the merge would change, and for the destinations of each relationship in the input.
  /// The reads of the source see the state of the stores that the merge sees.
  func pendingEdits(_ query: PendingEditsQuery, in context: ManagedObjectContext) throws -> [PendingEdit]

  /// Carries out the decisions of a merge with changes in the context, which the merge saves with its own changes.
  /// Called on the context's thread, after the merge has changed the records. A repeated decision should change
  /// nothing, so that a second merge of one input writes nothing.
  func carryOut(_ decisions: [PendingDecision], in context: ManagedObjectContext) throws
}
