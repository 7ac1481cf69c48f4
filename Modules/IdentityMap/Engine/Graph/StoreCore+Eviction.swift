extension StoreCore {
  /// Counts a node with its first handle.
  func addHandledNode() {
    if graph.handledNodes == 0 { _ = Unmanaged.passRetained(self) }
    graph.handledNodes += 1
  }

  /// Ends a handle without owners.
  ///
  /// No reference to the node outlives the operation: the release of its value can recurse, and the end of the
  /// operation has the stack for that.
  func release(_ handle: Unmanaged<Handle>, of node: Unmanaged<Node>) {
    let isLast = exclusively {
      node._withUnsafeGuaranteedRef { node in
        if node.handle?.toOpaque() == handle.toOpaque() { node.handle = nil }
        node.handles -= 1
        guard node.handles == 0 else { return false }
        pending.addReleaseCandidate(node)
        graph.handledNodes -= 1
        return graph.handledNodes == 0
      }
    }
    if isLast { Unmanaged.passUnretained(self).release() }
  }

  func evictUnreferenced() {
    tables.evictOverdue()
    while let node = pending.nextReleaseCandidate() {
      guard !node.isRetained, !node.flags.contains(.evicted) else { continue }
      if node.relations.map({ $0.parents.isEmpty }) ?? true {
        evict(node)
      } else if let cycle = unreferencedCycle(with: node) {
        for member in cycle { evict(member) }
      }
    }
  }

  /// Removes a node from the store. Its children may then have no reason to be kept.
  private func evict(_ node: Node) {
    node.flags.insert(.evicted)
    node.setChildren([])
    node.removeFromTable()
    pending.release(node)
  }

  /// A node without a reason of its own is kept by its parents. They do not need it, unless they are its descendants
  /// too.
  /// - Returns: The node and its ancestors when none of them is retained.
  private func unreferencedCycle(with node: Node) -> [Node]? {
    guard graph.cycleLinks > 0, let relations = node.relations, !relations.children.isEmpty else { return nil }
    var found = [node]
    var isRetained = false
    node.flags.insert(.visited)
    var next = 0
    while next < found.count, !isRetained {
      let parents = found[next].relations?.parents.map(\.parent) ?? []
      next += 1
      for parent in parents where !parent.flags.contains(.visited) {
        parent.flags.insert(.visited)
        found.append(parent)
        isRetained = isRetained || parent.isRetained
      }
    }
    for member in found { member.flags.remove(.visited) }
    return isRetained ? nil : found
  }
}
