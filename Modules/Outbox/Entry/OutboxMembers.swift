/// The change of one to-many relationship in an entry.
public struct OutboxMembers: Sendable, Hashable {
  /// The present name of the relationship: the recorded name, or the new name after a migration renamed the
  /// relationship.
  public let name: String
  /// The name of the relationship when the change was recorded.
  public let recordedName: String
  /// Whether the model still has the relationship.
  public let isKnown: Bool
  /// The records that became members, in ascending order of their keys.
  public var added: [OutboxRecord]
  /// The records that are no members any more, in ascending order of their keys.
  public var removed: [OutboxRecord]
  /// Whether members of an ordered relationship have other positions.
  public var isReordered: Bool
  /// Whether this side stands for the relationship where entries of both sides name it.
  public let isOwner: Bool

  /// Makes a change of a relationship that the model has by the name that was recorded.
  public init(
    _ name: String, added: [OutboxRecord] = [], removed: [OutboxRecord] = [], isReordered: Bool = false,
    isOwner: Bool = true
  ) {
    self.init(
      name: name, recordedName: name, isKnown: true, added: added, removed: removed, isReordered: isReordered,
      isOwner: isOwner)
  }

  init(
    name: String, recordedName: String, isKnown: Bool, added: [OutboxRecord], removed: [OutboxRecord],
    isReordered: Bool, isOwner: Bool
  ) {
    self.name = name
    self.recordedName = recordedName
    self.isKnown = isKnown
    self.added = added
    self.removed = removed
    self.isReordered = isReordered
    self.isOwner = isOwner
  }
}
