/// The visible value of an entity: the confirmed value with the tentative changes applied.
extension EntityTable {
  /// Sets the tentative changes of an entity, and makes the value with them visible.
  /// - Parameter former: The visible value before the call; by default the node's value.
  func setOverlay(_ overlay: EntityOverlay<T>, of node: EntityNode<T>, replacing former: T? = nil) {
    let (formerValue, formerOverlay) = (node.value, node.setOverlay(overlay.patches.isEmpty ? nil : overlay))
    defer { withExtendedLifetime((formerValue, formerOverlay)) {} }
    // When the visible value differs from the node's value, the node has the confirmed one, which must not be read.
    let (visible, exists) =
      former == nil ? visibleValue(of: overlay) : core.whileInconsistent(node) { visibleValue(of: overlay) }
    guard let visible else { return removeTentativeEntity(node, leaving: overlay.last) }
    if exists {
      show(visible, of: node, replacing: former, with: overlay.contents)
    } else {
      removeTentatively(node, leaving: visible)
    }
  }

  /// Returns the confirmed value with the changes applied, and whether the entity exists then.
  private func visibleValue(of overlay: EntityOverlay<T>) -> (value: T?, exists: Bool) {
    var (visible, exists) = (overlay.base, true)
    for patch in overlay.patches {
      exists = apply(patch, to: &visible, existing: exists)
      if let visible, patch.mayAddEntities { storeNestedEntities(visible, patch.change, with: overlay.contents) }
    }
    return (visible, exists)
  }

  /// Removes an entity that existed by tentative changes alone.
  ///
  /// - Parameter last: The value before an earlier removal of the entity, which aggregates keep.
  private func removeTentativeEntity(_ node: EntityNode<T>, leaving last: T?) {
    if let last {
      node.setChildren([])
      let former = node.exchange(for: last)
      defer { withExtendedLifetime(former) {} }
      didChangeValue(of: node)
    }
    node.removeEverywhere()
  }

  /// Makes a value the visible one of a present or tentatively removed entity.
  /// - Parameters:
  ///   - former: The visible value before the call; by default the node's value.
  ///   - contents: The entities of the confirmed value.
  private func show(_ value: T, of node: EntityNode<T>, replacing former: T?, with contents: [Handle]) {
    let wasRemoved = node.flags.contains(.tentativelyRemoved)
    if wasRemoved { restorePresence(node) } else if former == nil, isVisible(value, by: node) { return }
    let before = former ?? node.upToDateValue()
    if traits.isAggregate {
      setAggregate(node, to: value, stamp: nil, mode: .keepingExisting, confirmedContents: contents)
      excludeTentativelyRemoved(from: node)
    } else {
      _ = node.exchange(for: value)
    }
    guard wasRemoved || !areEqual(before, node.upToDateValue(), of: node) else {
      if !areIdentical(before, node.upToDateValue()) { core.propagateSilently(from: node) }
      return
    }
    didChangeValue(of: node)
    if former == nil, core.isLogging { core.reportStored(T.self, node.value.id) }
  }

  /// Whether a value is identical to the visible value of a node.
  private func isVisible(_ value: T, by node: EntityNode<T>) -> Bool {
    let visible = node.upToDateValue()
    return areEqual(visible, value, of: node) && areIdentical(visible, value)
  }

  /// Removes an entity tentatively, also from the aggregates with it.
  private func removeTentatively(_ node: EntityNode<T>, leaving value: T) {
    markTentativelyRemoved(node, as: value)
    for change in node.removals where !change.isEnding {
      for container in node.containers { change.exclude(node, from: container) }
    }
  }

  // MARK: The effects

  /// Whether the entity exists after the changes.
  func exists(by overlay: EntityOverlay<T>) -> Bool {
    var visible = overlay.base
    return overlay.patches.reduce(true) { apply($1, to: &visible, existing: $0) }
  }

  /// The changes after which the entity does not exist.
  func removals(by overlay: EntityOverlay<T>) -> [TentativeChange] {
    var visible = overlay.base
    return overlay.patches.filter { !apply($0.effect, to: &visible) }.map(\.change)
  }

  /// Applies one effect to a value of an entity that may be tentatively removed.
  /// - Parameter exists: Whether the entity exists before. A change of the value does not restore a removed entity.
  /// - Returns: Whether the entity exists then.
  private func apply(_ patch: EntityOverlay<T>.Patch, to value: inout T?, existing exists: Bool) -> Bool {
    apply(patch.effect, to: &value) && (exists || !patch.needsValue)
  }

  /// Applies one effect to a value.
  /// - Returns: Whether the entity exists then. An effect that removes the entity leaves the value unchanged.
  func apply(_ effect: EntityOverlay<T>.Effect, to value: inout T?) -> Bool {
    switch effect {
    case .value(let entity):
      value = entity
    case .nested(let entity):
      if value == nil { value = entity }
    case .change(let change):
      guard let before = value, var changed = value else { return false }
      change(&changed)
      if changed.id == before.id { value = changed }
    case .removal:
      return false
    case .without(let others):
      guard var reduced = value else { return false }
      guard removeAll(Set(others.map { ObjectIdentifier($0) }), from: &reduced) else { return false }
      value = reduced
    }
    return true
  }
}
