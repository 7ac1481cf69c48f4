/// The change of one to-many relationship in an entry.
public struct OutboxMembers: Sendable, Hashable {
  /// The name of the relationship in the present model: the recorded name, or the new name after a migration renamed
  /// the relationship.
  public let name: String
  /// The name of the relationship when the change was recorded.
  public let recordedName: String
  /// Whether the model still has the relationship.
  public let isKnown: Bool
  /// The records that became members, in ascending order of their keys.
  public var added: [OutboxRecord]
  /// The records that stopped being members, in ascending order of their keys.
  public var removed: [OutboxRecord]
  /// Whether the save moved members of an ordered relationship.
  public var isReordered: Bool
  /// Whether the entries of this side alone describe the links: true for one side of a many-to-many relationship and
  /// for a relationship without an inverse. False for the other side, and for a one-to-many relationship, whose members
  /// have entries for their to-one relationships.
  public let isOwner: Bool

  /// Makes a change of a relationship that the present model has by its recorded name.
  ///
  /// - Parameters:
  ///   - name: The name of the relationship.
  ///   - added: The records that became members.
  ///   - removed: The records that stopped being members.
  ///   - isReordered: Whether members of an ordered relationship were moved.
  ///   - isOwner: Whether the entries of this side alone describe the links.
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
