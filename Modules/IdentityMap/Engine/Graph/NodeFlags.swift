@usableFromInline
struct NodeFlags: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt16

  @inlinable init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// The value is out of date, because a descendant has changed. All ancestors are dirty too.
  static let dirty = NodeFlags(rawValue: 1 << 0)
  /// In the list of nodes whose observers are notified.
  static let changed = NodeFlags(rawValue: 1 << 1)
  /// In the list of nodes whose reasons to be kept are checked at the end of the transaction.
  static let releaseCandidate = NodeFlags(rawValue: 1 << 2)
  /// Without an entity: removed or never stored. Handles may keep the node until the entity is stored again.
  @inlinable static var absent: NodeFlags { NodeFlags(rawValue: 1 << 3) }
  /// Being stored. A nested occurrence closes a cycle.
  static let beingStored = NodeFlags(rawValue: 1 << 4)
  /// Its type has queries.
  static let queried = NodeFlags(rawValue: 1 << 5)
  /// Recorded in the undo log of the running transaction.
  @inlinable static var recorded: NodeFlags { NodeFlags(rawValue: 1 << 6) }
  /// Visited by the current walk.
  static let visited = NodeFlags(rawValue: 1 << 7)
  /// The store has forgotten it.
  static let evicted = NodeFlags(rawValue: 1 << 8)
  /// Marked as stale by a user.
  static let invalidated = NodeFlags(rawValue: 1 << 9)
  /// With tentative changes over the confirmed value.
  static let overlaid = NodeFlags(rawValue: 1 << 10)
  /// Removed by an optimistic change; absent too.
  static let tentativelyRemoved = NodeFlags(rawValue: 1 << 12)
  /// The node has relations.
  @inlinable static var hasRelations: NodeFlags { NodeFlags(rawValue: 1 << 11) }
  /// Stamped by the running transaction.
  static let stamped = NodeFlags(rawValue: 1 << 13)
  /// Its value is being rebuilt from the children.
  static let rebuilding = NodeFlags(rawValue: 1 << 14)
  /// Its value is not final, or its links do not match it yet.
  @inlinable static var inconsistent: NodeFlags { NodeFlags(rawValue: 1 << 15) }
}
