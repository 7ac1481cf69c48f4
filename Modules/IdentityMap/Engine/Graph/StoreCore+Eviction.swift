/// The eviction of nodes: a commit removes each candidate that neither a handle, nor a reason inside the store, nor a
/// retained ancestor retains.
extension StoreCore {
  /// Counts a node with its first handle.
  func addHandledNode() {
    if graph.handledNodes == 0 { _ = Unmanaged.passRetained(self) }
    graph.handledNodes += 1
  }

  /// Ends a handle without owners, and evicts its node unless something else retains the node.
  ///
  /// No reference to the node outlives the operation: the release of its value can recurse, and the end of the
  /// operation has the stack for that.
  func release(_ handle: Unmanaged<Handle>, of node: Unmanaged<Node>) {
    let isLast = exclusively {
      node._withUnsafeGuaranteedRef { node in
        if node.handle?.toOpaque() == handle.toOpaque() { node.handle = nil }
        node.handles -= 1
        guard node.handles == 0 else { return false }
        pending.addEvictionCandidate(node)
        graph.handledNodes -= 1
        return graph.handledNodes == 0
      }
    }
    if isLast { Unmanaged.passUnretained(self).release() }
  }

  /// Evicts the candidates that nothing retains, and the children that nothing retains after that.
  func evictUnreferenced() {
    tables.evictOverdue()
    while let node = pending.nextEvictionCandidate() {
      guard !node.isRetained, !node.flags.contains(.evicted) else { continue }
      if node.relations.map({ $0.parents.isEmpty }) ?? true {
        evict(node)
      } else if let group = unreferencedGroup(with: node) {
        for member in group { evict(member) }
      }
    }
  }

  /// Removes a node from the store, and makes its children candidates for eviction.
  private func evict(_ node: Node) {
    node.flags.insert(.evicted)
    node.setChildren([])
    node.removeFromTable()
    pending.release(node)
  }

  /// Returns the node with all its ancestors if none of them is retained: then they only keep each other alive.
  /// - Returns: `nil` if an ancestor is retained, or if no cycle can contain the node.
  private func unreferencedGroup(with node: Node) -> [Node]? {
    guard graph.cycleLinks > 0, let relations = node.relations, !relations.children.isEmpty else { return nil }
    var found = [node]
    var isRetained = false
    node.flags.insert(.visited)
    var next = 0
    search: while next < found.count {
      let relations = found[next].relations
      next += 1
      guard let relations else { continue }
      for link in relations.parents {
        let parent = link.parent
        // A node with many parents mostly has a retained one among the first.
        isRetained = parent.isRetained
        if isRetained { break search }
        guard !parent.flags.contains(.visited) else { continue }
        parent.flags.insert(.visited)
        found.append(parent)
      }
    }
    for member in found { member.flags.remove(.visited) }
    return isRetained ? nil : found
  }
}
