/// The links from a node to the nodes of the entities in its value. The heights of nodes show quickly that a new link
/// closes no cycle.
extension Node {
  /// Links the node to the children of its value, in their order. Children of replaced links become candidates for
  /// eviction.
  final func setChildren(_ children: [Node]) {
    if children.isEmpty && relations.map({ $0.children.isEmpty }) ?? true { return }
    requireNotRebuilding()
    let relations = makeRelations()
    let common = commonPrefix(of: relations.children, and: children)
    while relations.children.count > common { unlinkLastChild() }
    relations.children.reserveCapacity(children.count)
    for child in children[common...] { link(to: child) }
    if relations.children.isEmpty { relations.height = 0 }
  }

  /// Links the node to the children of its value, and has the next rebuild write their current values into it.
  final func relink(to children: [Node]) {
    setChildren(children)
    for index in children.indices { relations?.children[index].writtenVersion = children[index].version &- 1 }
    if !children.isEmpty { flags.insert(.dirty) }
  }

  /// The number of links to keep at the beginning of the list: up to a link with another child, or a link that closes a
  /// cycle or leads to an entity being stored. For such a link, it has to be determined again whether it closes a
  /// cycle.
  private func commonPrefix(of links: LinkBuffer<ChildLink>, and children: [Node]) -> Int {
    var index = 0
    while index < links.count, index < children.count, links[index].child === children[index],
      !links[index].closesCycle, !children[index].flags.contains(.beingStored)
    {
      index += 1
    }
    return index
  }

  /// Adds a link to a child.
  private func link(to child: Node) {
    let relations = makeRelations()
    let childRelations = child.makeRelations()
    let closesCycle = raiseUnlessCycle(above: child)
    if closesCycle {
      relations.cycleLinks += 1
      core.graph.cycleLinks += 1
    }
    // An ancestor of a dirty node is dirty.
    if !closesCycle && child.flags.contains(.dirty) { flags.insert(.dirty) }
    let childIndex = Int32(relations.children.count)
    relations.children.append(
      ChildLink(
        child: child, parentIndex: Int32(childRelations.parents.count), writtenVersion: child.version,
        closesCycle: closesCycle))
    childRelations.parents.append(ParentLink(parent: self, childIndex: childIndex, closesCycle: closesCycle))
  }

  private func unlinkLastChild() {
    guard let relations, let link = relations.children.removeLast(), let childRelations = link.child.relations
    else { return }
    if link.closesCycle {
      relations.cycleLinks -= 1
      core.graph.cycleLinks -= 1
    }
    // The last parent link moves to the free index.
    guard let last = childRelations.parents.removeLast() else { return }
    if Int(link.parentIndex) < childRelations.parents.count {
      childRelations.parents[Int(link.parentIndex)] = last
      last.parent.relations?.children[Int(last.childIndex)].parentIndex = link.parentIndex
    }
    core.pending.addEvictionCandidate(link.child)
  }

  // MARK: Cycles

  /// Whether a link to the child would close a cycle. If not, the heights are adjusted to the link.
  private func raiseUnlessCycle(above child: Node) -> Bool {
    if child === self || child.flags.contains(.beingStored) { return true }
    guard let relations, let childHeight = child.relations?.height, childHeight >= relations.height else {
      return false
    }
    if !relations.parents.isEmpty {
      // If the child were an ancestor, all nodes between would be at most as high as the child.
      let lower = ancestors { $0.relations.map { $0.height <= childHeight } ?? false }
      if lower.contains(where: { $0 === child }) { return true }
    }
    raise(above: childHeight)
    return false
  }

  /// Makes the node higher than a given height, and its ancestors higher than the node.
  private func raise(above height: Int32) {
    makeRelations().height = height + 1
    var raised = [self]
    var next = 0
    while next < raised.count {
      guard let relations = raised[next].relations else { continue }
      next += 1
      for link in relations.parents where !link.closesCycle {
        guard let parent = link.parent.relations, parent.height <= relations.height else { continue }
        parent.height = relations.height + 1
        raised.append(link.parent)
      }
    }
  }

  /// The ancestors that satisfy a condition and are reached over such ancestors alone. Links that close a cycle do not
  /// count.
  private func ancestors(where condition: (Node) -> Bool) -> [Node] {
    var found: [Node] = []
    var stack = [self]
    while let node = stack.popLast() {
      guard let parents = node.relations?.parents else { continue }
      for link in parents where !link.closesCycle {
        let parent = link.parent
        guard !parent.flags.contains(.visited), condition(parent) else { continue }
        parent.flags.insert(.visited)
        found.append(parent)
        stack.append(parent)
      }
    }
    for node in found { node.flags.remove(.visited) }
    return found
  }
}
