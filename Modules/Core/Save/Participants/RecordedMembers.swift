/// The change of one to-many relationship of a record, as a ``SaveParticipant`` is shown it. All identifiers are
/// permanent.
public struct RecordedMembers: Sendable {
  /// The relationship.
  public let relationship: RelationshipDescription
  /// The added members, in the order of their addition.
  public let added: [ManagedObjectID]
  /// The removed members, by ascending identifier. A member that the same save deletes counts as removed.
  public let removed: [ManagedObjectID]
  /// Whether the remaining members of an ordered relationship have another order.
  public let isReordered: Bool

  /// The change of a record's members; `nil` for no change.
  init?(_ relationship: RelationshipDescription, _ changes: MemberChanges, _ permanentIDs: PermanentIDs) {
    guard !changes.isEmpty else { return nil }
    self.relationship = relationship
    added = changes.added.map { permanentIDs[$0] }.filter { !$0.isTemporaryID }
    removed = changes.removed.map { permanentIDs[$0] }.filter { !$0.isTemporaryID }
      .sorted(by: ManagedObjectID.precedes)
    isReordered = !changes.keepsPositions
  }

  /// Whether this side stands for the relationship where both sides are recorded.
  ///
  /// A link between two records is a change of both. It is recorded once by the changes of owners: one side of a
  /// many-to-many relationship, and a relationship without an inverse. `false` for a one-to-many relationship, whose
  /// members record the change of their to-one relationship.
  public var isOwner: Bool {
    if case .links(_, let isForward) = relationship.storage { isForward } else { false }
  }
}
