/// Tentative removals of entities, and of the aggregates that require them.
extension TentativeChange {
  /// Tentatively removes an entity from an aggregate, and the aggregate too if it requires the entity.
  func exclude(_ entity: Node, from aggregate: some Node & TentativelyRemovable) {
    // The links of an aggregate that is being stored do not belong to its value yet; the store excludes the entity
    // afterwards.
    guard !aggregate.flags.contains(.beingStored) else { return }
    // A setter that puts the entity back would have every removal follow another one.
    guard !aggregate.keepsLastValue(of: entity), aggregate.exclusionCount(of: entity, by: self) < 2 else { return }
    StackSpace.forLevel {
      aggregate.patch(removing: entity, for: self)
      guard aggregate.isAbsent else { return }
      for container in aggregate.containers { exclude(aggregate, from: container) }
    }
  }

  /// Removes an entity tentatively: from its aggregates first. Aggregates that require the entity are removed with it.
  func remove(_ entity: some Node & TentativelyRemovable) {
    var removed: [any Node & TentativelyRemovable] = [entity]
    var next = 0
    while next < removed.count {
      let node = removed[next]
      next += 1
      for parent in node.containers where !parent.keepsLastValue(of: node) {
        parent.patch(removing: node, for: self)
        if parent.isAbsent { removed.append(parent) }
      }
    }
    // Normally the entity alone: its aggregates are absent by their patches. A reversion runs backwards, and restores
    // the entity before its aggregates, unless the change had an earlier effect on the entity.
    for node in removed.reversed() where !node.isAbsent { node.patch(removing: nil, for: self) }
  }
}
