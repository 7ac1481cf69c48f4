public import CoherenceCore

/// The decision of a merge over one pending edit. The source carries the decision out in the merge's context, so that one
/// save commits both.
public struct PendingDecision: Sendable {
  /// The pending edit.
  public let edit: PendingEdit
  /// The server's values by property, as far as the merge's input has them; `nil` if the server has deleted the record.
  public let serverValues: [String: AttributeValue]?
  /// The names of the properties whose pending edits lost to the server. All edits of a record that the merge deletes have
  /// lost.
  public let discarded: Set<String>
  /// The names of the properties that both sides changed, for the user to decide. For a deletion, the names of the
  /// properties that the server changed.
  public let conflicting: Set<String>
  /// Whether a user has to decide: over the conflicting properties, or between a deletion on one side and a change on the
  /// other. The edit waits for the decision.
  public let isConflict: Bool
  /// Whether the edit's ``PendingEdit/conflict`` has ended: the user has nothing to decide any more, and the edit is sent.
  public let endsConflict: Bool

  /// Makes a decision, for tests of sources.
  public init(
    over edit: PendingEdit, serverValues: [String: AttributeValue]?, discarded: Set<String> = [],
    conflicting: Set<String> = [], isConflict: Bool = false, endsConflict: Bool = false
  ) {
    self.edit = edit
    self.serverValues = serverValues
    self.discarded = discarded
    self.conflicting = conflicting
    self.isConflict = isConflict
    self.endsConflict = endsConflict
  }

  /// Whether a pending insert becomes an update based on the server's values, because the server has a record with its key.
  public var becomesUpdate: Bool { edit.kind == .insert && serverValues != nil }
}
