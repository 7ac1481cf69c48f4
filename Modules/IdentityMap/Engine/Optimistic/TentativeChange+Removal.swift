extension TentativeChange {
  /// Tentatively removes an entity from an aggregate, and the aggregate too if it needs the entity.
  func exclude(_ entity: Node, from aggregate: some Node & TentativelyRemovable) {
    guard !aggregate.keeps(entity) else { return }
    StackSpace.forLevel {
      aggregate.patch(removing: entity, for: self)
      guard aggregate.isAbsent else { return }
      for container in aggregate.containers { exclude(aggregate, from: container) }
    }
  }

  /// Removes an entity tentatively: from its aggregates first. Aggregates that need the entity are removed with it.
  func remove(_ entity: some Node & TentativelyRemovable) {
    var doomed: [any Node & TentativelyRemovable] = [entity]
    var next = 0
    while next < doomed.count {
      let node = doomed[next]
      next += 1
      for parent in node.containers where !parent.keeps(node) {
        parent.patch(removing: node, for: self)
        if parent.isAbsent { doomed.append(parent) }
      }
    }
    // Aggregates first, so that a reversion, which runs backwards, restores the entities before them.
    for node in doomed.reversed() where !node.isAbsent { node.patch(removing: nil, for: self) }
  }
}
