extension StoreCore {
  /// A node has its first handle.
  func noteHandled() {
    if handledNodes == 0 { _ = Unmanaged.passRetained(self) }
    handledNodes += 1
  }

  /// Lets go of a handle that nobody has any more.
  ///
  /// Keeps no reference of the node beyond the operation: the node, whose value may keep other nodes, ends with the work
  /// of the operation, which has the stack for that.
  func giveUp(_ handle: Unmanaged<Handle>, of node: Unmanaged<Node>) {
    let isLast = exclusively {
      node._withUnsafeGuaranteedRef { node in
        if node.handle?.toOpaque() == handle.toOpaque() { node.handle = nil }
        node.handles -= 1
        guard node.handles == 0 else { return false }
        loosen(node)
        handledNodes -= 1
        return handledNodes == 0
      }
    }
    if isLast { Unmanaged.passUnretained(self).release() }
  }

  /// Has it looked at, when the transaction ends, whether anything still holds a node.
  func loosen(_ node: Node) {
    guard !node.flags.contains(.loose) else { return }
    node.flags.insert(.loose)
    loose.append(node)
    hasWork = true
  }

  func dropUnheld() {
    tables.sweepOverdue()
    while let node = loose.popLast() {
      node.flags.remove(.loose)
      guard !node.isHeld, !node.flags.contains(.gone) else { continue }
      if node.relations.map({ $0.parents.isEmpty }) ?? true {
        drop(node)
      } else if let circle = unheldCircle(with: node) {
        for member in circle { drop(member) }
      }
    }
  }

  /// Forgets a node. Its children may be held no more then.
  private func drop(_ node: Node) {
    node.flags.insert(.gone)
    node.setChildren([])
    node.leaveTable()
    aftermath.refuse.append(node)
    hasWork = true
  }

  /// A node that is not held itself lives by its parents. They live without it, unless they are its descendants too.
  /// - Returns: The node and its ancestors when none of them is held.
  private func unheldCircle(with node: Node) -> [Node]? {
    guard backLinks > 0, let relations = node.relations, !relations.children.isEmpty else { return nil }
    var found = [node]
    var isHeld = false
    node.flags.insert(.visited)
    var next = 0
    while next < found.count, !isHeld {
      let parents = found[next].relations?.parents.map(\.parent) ?? []
      next += 1
      for parent in parents where !parent.flags.contains(.visited) {
        parent.flags.insert(.visited)
        found.append(parent)
        isHeld = isHeld || parent.isHeld
      }
    }
    for member in found { member.flags.remove(.visited) }
    return isHeld ? nil : found
  }
}
