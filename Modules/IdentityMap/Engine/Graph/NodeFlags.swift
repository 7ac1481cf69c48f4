/// The states of a node, one bit each.
@usableFromInline
struct NodeFlags: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt16

  @inlinable init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// The value is out of date, because a descendant has changed. All ancestors are dirty too.
  static let dirty = NodeFlags(rawValue: 1 << 0)
  /// The node is in the list of nodes whose observers are notified.
  static let changed = NodeFlags(rawValue: 1 << 1)
  /// The node is in the list of nodes that the end of the transaction evicts if nothing retains them.
  static let evictionCandidate = NodeFlags(rawValue: 1 << 2)
  /// The node has no entity: the entity was removed or never stored. Handles may retain the node until the entity is
  /// stored again.
  @inlinable static var absent: NodeFlags { NodeFlags(rawValue: 1 << 3) }
  /// The entity is being stored. A nested occurrence closes a cycle.
  static let beingStored = NodeFlags(rawValue: 1 << 4)
  /// The entity's type has queries.
  static let queried = NodeFlags(rawValue: 1 << 5)
  /// The undo log of the running transaction has the node's former state.
  @inlinable static var recorded: NodeFlags { NodeFlags(rawValue: 1 << 6) }
  /// The current walk has visited the node.
  static let visited = NodeFlags(rawValue: 1 << 7)
  /// The store has removed the node from its tables.
  static let evicted = NodeFlags(rawValue: 1 << 8)
  /// The program has marked the entity as stale.
  static let invalidated = NodeFlags(rawValue: 1 << 9)
  /// The entity has tentative changes over its confirmed value.
  static let overlaid = NodeFlags(rawValue: 1 << 10)
  /// An optimistic change has removed the entity. The node is absent too.
  static let tentativelyRemoved = NodeFlags(rawValue: 1 << 12)
  /// The node has relations.
  @inlinable static var hasRelations: NodeFlags { NodeFlags(rawValue: 1 << 11) }
  /// The running transaction has set the stamp.
  static let stamped = NodeFlags(rawValue: 1 << 13)
  /// The value is being rebuilt from the children.
  static let rebuilding = NodeFlags(rawValue: 1 << 14)
  /// The value is not final, or the links do not match the value yet.
  @inlinable static var inconsistent: NodeFlags { NodeFlags(rawValue: 1 << 15) }
}
