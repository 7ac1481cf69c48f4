/// A node whose entity can be removed while handles retain the node.
protocol RemovableNode {
  /// Marks the entity as removed.
  func becomeAbsent()
}

extension EntityNode: RemovableNode {
  /// Marks the entity as removed. Observers that retain the node follow the entity again when it is stored again.
  func becomeAbsent() {
    if flags.contains(.tentativelyRemoved) { return confirmRemoval() }
    guard !isAbsent else { return }
    let table = core.table(of: T.self)
    flags.insert(.absent)
    notifyOfRemoval()
    table.didRemove(self, id: value.id)
    let former = setOverlay(nil)
    defer { withExtendedLifetime(former) {} }
    core.pending.addEvictionCandidate(self)
    core.discardFromChanges(self)
  }

  /// Schedules the observers of removals.
  private func notifyOfRemoval() {
    guard let relations, relations.hasObservers else { return }
    advanceVersion()
    core.pending.addChanged(self)
  }

  /// Makes a tentative removal final.
  private func confirmRemoval() {
    // Comes first, while the links of the changes' containers still lead to this node.
    core.discardFromChanges(self)
    let former = setOverlay(nil)
    defer { withExtendedLifetime(former) {} }
    setTentativelyRemoved(false)
    core.table(of: T.self).retention?.release(self)
    core.pending.addEvictionCandidate(self)
  }

  /// Removes the entity from aggregates, collections and aliases, and then itself. Aggregates that require it are
  /// removed with it.
  func removeEverywhere() {
    // Removing the entity from optimistic changes can remove further entities.
    StackSpace.forLevel {
      var stack: [any Node & RemovableNode] = [self]
      while let node = stack.popLast() {
        let count = stack.count
        node.detach(addingTo: &stack)
        // One by one, the removal of many aggregates from a list would take the square of their number.
        let next = stack[count...].map { $0 as Node }
        core.removeFromParents(next.filter { !$0.flags.contains(.tentativelyRemoved) })
      }
    }
  }
}

extension Node {
  /// Removes the entity from the values that contain it, and marks it as removed.
  /// - Parameter stack: Receives the aggregates that require the entity, which have to be removed too.
  fileprivate func detach(addingTo stack: inout [any Node & RemovableNode]) {
    core.record(self)
    var parents: [Node] = []
    for parent in relations?.parents.map(\.parent) ?? [] where !parent.flags.contains(.visited) {
      parent.flags.insert(.visited)
      parents.append(parent)
    }
    for parent in parents { parent.flags.remove(.visited) }
    for parent in parents where parent.remove(self) {
      if let parent = parent as? any Node & RemovableNode { stack.append(parent) }
    }
    // Aggregates that keep the last value get the children's current values in it.
    if hasParents { core.bringUpToDate(self) }
    // Last, because the parents, and the value that they keep, are brought up to date over the links to the children.
    setChildren([])
    (self as? any Node & RemovableNode)?.becomeAbsent()
  }
}

extension Node {
  /// Whether nodes are exactly the node's children without some of them. Not so if a key path keeps the last value of a
  /// removed entity, and if a wrapper is removed with all of its entities.
  final func isRemainder(_ nodes: [Node], without removed: Set<ObjectIdentifier>) -> Bool {
    guard let relations, !nodes.contains(where: { removed.contains(ObjectIdentifier($0)) }) else { return false }
    return nodes.count == relations.children.filter { !removed.contains(ObjectIdentifier($0.child)) }.count
  }
}

extension StoreCore {
  /// Removes entities that are about to be removed from the values that contain them, with one walk over each value.
  ///
  /// The removal of one entity walks over each value with the entity. So the cost of removing a whole list, entity by
  /// entity, would grow with the square of its length.
  func removeFromParents(_ nodes: [Node]) {
    guard nodes.count > 1 else { return }
    let removed = Set(nodes.map { ObjectIdentifier($0) })
    var seen: Set<ObjectIdentifier> = []
    var parents: [Node] = []
    for node in nodes {
      for parent in node.relations?.parents.map(\.parent) ?? []
      where !removed.contains(ObjectIdentifier(parent)) && seen.insert(ObjectIdentifier(parent)).inserted {
        parents.append(parent)
      }
    }
    for parent in parents { parent.removeAll(removed) }
  }
}
