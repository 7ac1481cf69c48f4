/// A node that no table owns: it retains itself until the store evicts it, after the release of its last handle.
class SelfRetainingNode<Value: Sendable>: ValueNode<Value> {
  /// Begins to retain the node, and links it to the children of its value. Called once, by the creation of the node.
  final func retainUntilEviction(with children: [Node]) {
    _ = Unmanaged.passRetained(self)
    setChildren(children)
    core.pending.addEvictionCandidate(self)
  }

  override func removeFromTable() {
    Unmanaged.passUnretained(self).release()
  }
}
