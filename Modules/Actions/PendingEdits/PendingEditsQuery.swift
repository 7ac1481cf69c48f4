public import CoherenceCore

/// A question of a merge for the pending edits of many records.
public struct PendingEditsQuery: Sendable {
  /// The records of a question.
  public enum Selection: Sendable, Hashable {
    /// The pending inserts and deletions of all records, and the pending updates with a ``PendingEdit/conflict`` or on
    /// their way to the server. The values and members of inserts may be left out.
    case insertsAndDeletions
    /// The pending edits of any kind of these records.
    case records([ManagedObjectID])
  }

  /// The entity of the records. Records of its subentities belong to the question too.
  public let entity: EntityDescription
  /// The records of the question.
  public let selection: Selection
  /// The beginning of the request for the merge's input; `nil` if it is not known. The input may be older than a
  /// confirmation by the server since then.
  public let requestedAt: ContinuousClock.Instant?

  /// Makes a question.
  public init(
    _ selection: Selection, of entity: EntityDescription, requestedAt: ContinuousClock.Instant? = nil
  ) {
    self.entity = entity
    self.selection = selection
    self.requestedAt = requestedAt
  }
}
