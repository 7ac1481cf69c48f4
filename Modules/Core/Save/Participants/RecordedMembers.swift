/// The change of one to-many relationship of a record, for a ``SaveParticipant``. All identifiers are permanent.
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

  /// Whether this side of the relationship records the change for both sides.
  ///
  /// A new link between two records changes the members of both. A participant that uses only the changes with
  /// `isOwner` sees each link once: `true` for one side of a many-to-many relationship, and for a relationship without
  /// an inverse. `false` for a one-to-many relationship, whose members record the change of their to-one relationship.
  /// A relationship that is its own inverse has a link in each direction: `true` for both records.
  public var isOwner: Bool {
    if case .links(_, let isForward) = relationship.storage { isForward } else { false }
  }
}
