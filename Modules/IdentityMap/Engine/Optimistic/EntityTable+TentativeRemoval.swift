/// Tentatively removed entities. Lookups do not find them; the node keeps the value and receives confirmed values, so
/// that a rollback can restore the entity.
extension EntityTable {
  /// Returns the node of a tentatively removed entity.
  func tentativelyRemovedNode(_ id: T.ID) -> EntityNode<T>? {
    guard let node = anyNode(id), node.flags.contains(.tentativelyRemoved) else { return nil }
    return node
  }

  /// Marks an entity as tentatively removed.
  /// - Parameter value: The value after a restoration. The caller retains the former value.
  func markTentativelyRemoved(_ node: EntityNode<T>, as value: T) {
    let wasThere = !node.isAbsent
    _ = node.exchange(for: value)
    if let plan = plan(for: value) { node.makeRelations().plan = plan }
    node.relink(to: contents(of: value))
    node.setTentativelyRemoved(true)
    node.flags.insert(.absent)
    guard wasThere else {
      guard core.graph.keepsRemoved else { return }
      // Aggregates that keep the last value get the new one.
      node.advanceVersion()
      return core.propagate(from: node)
    }
    didRemove(node, id: value.id, forNow: true)
    node.advanceVersion()
    core.propagate(from: node)
    core.pending.addReleaseCandidate(node)
  }

  /// Makes a tentatively removed entity present again. Its value is set afterwards.
  func restorePresence(_ node: EntityNode<T>) {
    node.setTentativelyRemoved(false)
    node.flags.remove(.absent)
    didRestore(node)
  }

  /// Removes the tentatively removed entities from an aggregate after a write of the aggregate with them.
  func excludeTentativelyRemoved(from node: EntityNode<T>) {
    guard core.optimistic.tentativelyRemovedCount > 0, let relations = node.relations else { return }
    var met: Set<ObjectIdentifier> = []
    for child in relations.children.map(\.child) where child.flags.contains(.tentativelyRemoved) {
      guard met.insert(ObjectIdentifier(child)).inserted, !node.keeps(child) else { continue }
      for change in (child as? any Node & TentativelyRemovable)?.removals ?? [] where !change.isEnding {
        change.exclude(child, from: node)
      }
    }
  }

  /// Removes another entity from a value.
  /// - Returns: Whether the value remains usable: it does not need the entity, and its identifier is unchanged.
  func remove(_ other: Node, from value: inout T) -> Bool {
    guard let plan = plan(for: value) else { return true }
    let id = value.id
    return LinkCursor.walk(over: contents(of: value), removing: other) { !plan.remove(from: &value, along: &$0) }
      && value.id == id
  }

  /// Shows the confirmed value when the visible value needs a removed entity and the confirmed one does not: the
  /// tentative changes are obsolete then.
  /// - Returns: Whether such a value exists.
  func fallBackToConfirmed(_ node: EntityNode<T>, without other: Node) -> Bool {
    guard let overlay = node.overlay, var base = overlay.base else { return false }
    guard remove(other, from: &base) else { return false }
    // Removals do not depend on the value.
    let patches = overlay.patches.filter { !$0.mayAddEntities }
    setOverlay(EntityOverlay(base: base, patches: patches, contents: overlay.contents), of: node)
    return true
  }

  /// Returns the nodes of the entities in a value, in their order, present or absent.
  func contents(of value: T) -> [Node] {
    guard let plan = plan(for: value) else { return [] }
    var collector = ChildCollector(core: core, stamp: nil, mode: .lookingUp)
    plan.collect(value, into: &collector)
    return collector.children
  }
}
