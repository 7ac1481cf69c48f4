public import CoherenceCore

/// The unconfirmed changes of one to-many relationship of a record.
public struct PendingMembers: Sendable, Hashable {
  /// The members that the user added.
  public var added: Set<ManagedObjectID>
  /// The members that the user removed.
  public var removed: Set<ManagedObjectID>

  /// Makes a change of members.
  public init(added: Set<ManagedObjectID> = [], removed: Set<ManagedObjectID> = []) {
    self.added = added
    self.removed = removed
  }

  /// Whether the user added or removed a member.
  func contains(_ id: ManagedObjectID) -> Bool { added.contains(id) || removed.contains(id) }
}
