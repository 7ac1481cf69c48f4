/// Nodes whose value and links do not match, because the entities in the value are being stored.
extension StoreCore {
  /// Runs a closure while the value or the links of a node are inconsistent. No value is built from the node then, and
  /// the node is not rebuilt.
  func whileInconsistent<R>(_ node: Node, while body: () -> R) -> R {
    if node.flags.contains(.inconsistent) { return body() }
    node.flags.insert(.inconsistent)
    graph.inconsistentNodes += 1
    defer {
      graph.inconsistentNodes -= 1
      node.flags.remove(.inconsistent)
    }
    return body()
  }

  /// Rebuilds a node while other nodes are inconsistent: values that contain such a node stay dirty.
  func bringConsistentUpToDate(_ node: Node) {
    var visited: Set<ObjectIdentifier> = []
    var stack = [(node: node, isReady: false)]
    while let (node, isReady) = stack.popLast() {
      if isReady {
        rebuild(node)
        if node.acyclicChildren.contains(where: { !$0.flags.isDisjoint(with: [.dirty, .inconsistent]) }) {
          node.flags.insert(.dirty)
        }
      } else if node.flags.contains(.dirty), !node.flags.contains(.inconsistent),
        visited.insert(ObjectIdentifier(node)).inserted
      {
        stack.append((node, true))
        stack += node.acyclicChildren.map { ($0, false) }
      }
    }
  }
}

extension Node {
  /// The children, except those that close a cycle.
  fileprivate var acyclicChildren: [Node] {
    relations?.children.filter { !$0.closesCycle }.map(\.child) ?? []
  }
}
