extension StoreCore {
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
      for link in found[next].relations?.parents ?? [] where !link.parent.flags.contains(.visited) {
        link.parent.flags.insert(.visited)
        found.append(link.parent)
        if link.parent.isHeld {
          isHeld = true
          break
        }
      }
      next += 1
    }
    for member in found { member.flags.remove(.visited) }
    return isHeld ? nil : found
  }
}

/// Keeps a node from outside of the store, and with it the store's core.
// Sendable because the node is immutable here and touched under the lock only.
@usableFromInline
final class Handle: @unchecked Sendable {
  @usableFromInline let node: Node

  /// Under the lock.
  @inlinable init(_ node: Node) {
    self.node = node
    let core = node.core
    node.handles += 1
    if core.handles == 0 { _ = Unmanaged.passRetained(core) }
    core.handles += 1
  }

  deinit {
    let node = node
    let core = node.core
    let isLast = core.exclusively {
      node.handles -= 1
      if node.handles == 0 { core.loosen(node) }
      core.handles -= 1
      return core.handles == 0
    }
    if isLast { Unmanaged.passUnretained(core).release() }
  }
}
