/// The effect of a change on the values with the changed entity: the change marks all ancestors as dirty, and a read
/// rebuilds dirty values, children first.
extension StoreCore {
  /// Marks all ancestors of a changed node as dirty and schedules observers.
  func propagate(from node: Node) {
    guard let relations = node.relations else {
      if node.flags.contains(.queried) { pending.addChanged(node) }
      return
    }
    if node.isObservedOrQueried { pending.addChanged(node) }
    if !relations.parents.isEmpty { propagate(over: relations.parents) }
  }

  /// Marks all ancestors over some links as dirty and schedules their observers.
  ///
  /// Each node is visited once: a dirty node has notified its ancestors already.
  func propagate(over parents: LinkBuffer<ParentLink>) {
    var stack: [Unmanaged<Node>] = []
    markParents(parents, into: &stack)
    while let node = stack.popLast() {
      node._withUnsafeGuaranteedRef { node in
        if let relations = node.relations { markParents(relations.parents, into: &stack) }
      }
    }
  }

  private func markParents(_ links: LinkBuffer<ParentLink>, into stack: inout [Unmanaged<Node>]) {
    for link in links {
      link.withParent { parent in
        if link.closesCycle {
          // The change is only visible to readers of the parent itself.
          parent.advanceVersion()
        } else if !parent.flags.contains(.dirty) || parent.isSilentlyDirty {
          parent.flags.insert(.dirty)
          parent.isSilentlyDirty = false
          parent.advanceVersion()
          if parent.hasParents { stack.append(.passUnretained(parent)) }
        }
        if parent.isObservedOrQueried { pending.addChanged(parent) }
      }
    }
  }

  /// Rebuilds a dirty node, after its dirty descendants.
  func bringUpToDate(_ node: Node) {
    guard node.flags.contains(.dirty) else { return }
    if graph.inconsistentNodes > 0 { return bringConsistentUpToDate(node) }
    guard let relations = node.relations, relations.height > 1 else { return rebuild(node) }
    if relations.height == 2 {
      // All children are leaves or aggregates of leaves.
      for link in relations.children where !link.closesCycle {
        link.withChild { if $0.flags.contains(.dirty) { rebuild($0) } }
      }
      return rebuild(node)
    }
    var stack = [node]
    while let top = stack.last {
      guard top.flags.contains(.dirty) else {
        stack.removeLast()
        continue
      }
      let depth = stack.count
      if let children = top.relations?.children {
        for link in children where !link.closesCycle && link.child.flags.contains(.dirty) { stack.append(link.child) }
      }
      if stack.count == depth {
        stack.removeLast()
        rebuild(top)
      }
    }
  }

  /// Writes the current values of the children into the value of a node.
  func rebuild(_ node: Node) {
    node.flags.remove(.dirty)
    node.flags.insert(.rebuilding)
    node.rebuild()
    node.flags.remove(.rebuilding)
  }
}

extension Node {
  /// Advances the version after a change of the value, marks all ancestors as dirty, and schedules observers.
  final func didChange() {
    advanceVersion()
    core.propagate(from: self)
  }
}
