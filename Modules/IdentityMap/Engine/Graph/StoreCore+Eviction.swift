extension StoreCore {
  /// A node has its first handle.
  func addHandledNode() {
    if handledNodes == 0 { _ = Unmanaged.passRetained(self) }
    handledNodes += 1
  }

  /// Lets go of a handle that nobody has any more.
  ///
  /// Keeps no reference of the node beyond the operation: the node, whose value may keep other nodes, ends with the work
  /// of the operation, which has the stack for that.
  func release(_ handle: Unmanaged<Handle>, of node: Unmanaged<Node>) {
    let isLast = exclusively {
      node._withUnsafeGuaranteedRef { node in
        if node.handle?.toOpaque() == handle.toOpaque() { node.handle = nil }
        node.handles -= 1
        guard node.handles == 0 else { return false }
        checkRelease(node)
        handledNodes -= 1
        return handledNodes == 0
      }
    }
    if isLast { Unmanaged.passUnretained(self).release() }
  }

  /// Has it looked at, when the transaction ends, whether anything still holds a node.
  func checkRelease(_ node: Node) {
    guard !node.flags.contains(.releaseCandidate) else { return }
    node.flags.insert(.releaseCandidate)
    releaseCandidates.append(node)
    hasWork = true
  }

  func evictUnreferenced() {
    tables.evictOverdue()
    while let node = releaseCandidates.popLast() {
      node.flags.remove(.releaseCandidate)
      guard !node.isRetained, !node.flags.contains(.evicted) else { continue }
      if node.relations.map({ $0.parents.isEmpty }) ?? true {
        evict(node)
      } else if let circle = unreferencedCycle(with: node) {
        for member in circle { evict(member) }
      }
    }
  }

  /// Forgets a node. Its children may be held no more then.
  private func evict(_ node: Node) {
    node.flags.insert(.evicted)
    node.setChildren([])
    node.removeFromTable()
    deferred.deferredReleases.append(node)
    hasWork = true
  }

  /// A node that is not held itself lives by its parents. They live without it, unless they are its descendants too.
  /// - Returns: The node and its ancestors when none of them is held.
  private func unreferencedCycle(with node: Node) -> [Node]? {
    guard cycleLinks > 0, let relations = node.relations, !relations.children.isEmpty else { return nil }
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
