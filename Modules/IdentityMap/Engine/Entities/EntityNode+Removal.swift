/// A node whose entity can be removed while handles keep the node.
protocol RemovableNode {
  func becomeAbsent()
}

extension EntityNode: RemovableNode {
  /// Marks the entity as removed. Observers that keep the node follow it again when the entity is stored again.
  func becomeAbsent() {
    if flags.contains(.tentativelyRemoved) { return confirmRemoval() }
    guard !isAbsent else { return }
    let table = core.table(of: T.self)
    flags.insert(.absent)
    notifyOfRemoval()
    table.didRemove(self, id: value.id)
    let former = setOverlay(nil)
    defer { withExtendedLifetime(former) {} }
    core.pending.addReleaseCandidate(self)
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
    core.pending.addReleaseCandidate(self)
  }

  /// Removes the entity from aggregates, collections and aliases, and then itself. Aggregates that need it are removed
  /// with it.
  func removeEverywhere() {
    // Removing the entity from optimistic changes can remove further entities.
    StackSpace.forLevel {
      var doomed: [any Node & RemovableNode] = [self]
      while let node = doomed.popLast() {
        node.detach(addingTo: &doomed)
      }
    }
  }
}

extension Node {
  fileprivate func detach(addingTo doomed: inout [any Node & RemovableNode]) {
    core.record(self)
    var parents: [Node] = []
    for parent in relations?.parents.map(\.parent) ?? [] where !parent.flags.contains(.visited) {
      parent.flags.insert(.visited)
      parents.append(parent)
    }
    for parent in parents { parent.flags.remove(.visited) }
    for parent in parents where parent.remove(self) {
      if let parent = parent as? any Node & RemovableNode { doomed.append(parent) }
    }
    // Aggregates that keep the last value get the children's current values in it.
    if hasParents { core.bringUpToDate(self) }
    // Last, because observers of the removal may store the entity again.
    setChildren([])
    (self as? any Node & RemovableNode)?.becomeAbsent()
  }
}
