/// Tentatively removed entities. Lookups do not find them; the node keeps the value and receives confirmed values, so
/// that a rollback can restore the entity.
extension EntityTable {
  /// Returns the node of a tentatively removed entity.
  func tentativelyRemovedNode(_ id: T.ID) -> EntityNode<T>? {
    guard let node = anyNode(id), node.flags.contains(.tentativelyRemoved) else { return nil }
    return node
  }

  /// Marks an entity as tentatively removed.
  /// - Parameter value: The value that a restoration makes visible. The caller retains the former value.
  func markTentativelyRemoved(_ node: EntityNode<T>, as value: T) {
    let wasPresent = !node.isAbsent
    _ = node.exchange(for: value)
    if let plan = plan(for: value) { node.makeRelations().plan = plan }
    node.relink(to: contents(of: value))
    node.setTentativelyRemoved(true)
    node.flags.insert(.absent)
    guard wasPresent else {
      guard core.graph.keepsRemoved else { return }
      // Aggregates that keep the last value get the new one.
      return node.didChange()
    }
    didRemove(node, id: value.id, isTentative: true)
    node.didChange()
    core.pending.addEvictionCandidate(node)
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
    var seen: Set<ObjectIdentifier> = []
    for child in relations.children.map(\.child) where child.flags.contains(.tentativelyRemoved) {
      guard seen.insert(ObjectIdentifier(child)).inserted, !node.keepsLastValue(of: child) else { continue }
      for change in (child as? any Node & TentativelyRemovable)?.removals ?? [] where !change.isEnding {
        change.exclude(child, from: node)
      }
    }
  }

  /// Makes the confirmed value visible when the visible value requires a removed entity and the confirmed one does
  /// not: then the tentative changes that put the entity into the value are obsolete.
  /// - Returns: Whether such a confirmed value exists.
  func fallBackToConfirmed(_ node: EntityNode<T>, without other: Node) -> Bool {
    guard let overlay = node.overlay, var base = overlay.base else { return false }
    guard remove(other, from: &base) else { return false }
    var visible: T? = base
    let patches = overlay.patches.filter { patch in
      // Removals do not depend on the value.
      guard patch.mayAddEntities else { return true }
      var changed = visible
      _ = apply(patch.effect, to: &changed)
      if let changed, contents(of: changed).contains(where: { $0 === other }) { return false }
      visible = changed
      return true
    }
    setOverlay(EntityOverlay(base: base, patches: patches, contents: overlay.contents), of: node)
    return true
  }
}
