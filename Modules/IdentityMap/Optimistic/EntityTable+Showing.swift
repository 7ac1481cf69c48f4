/// What is shown of an entity: the sure value with the changes that are not sure on top of it.
extension EntityTable {
  /// - Parameter former: What was shown until now; the node's value, if nothing is said.
  func setOverlay(_ overlay: EntityOverlay<T>, of node: EntityNode<T>, instead former: T? = nil) {
    let (formerValue, formerOverlay) = (node.value, node.setOverlay(overlay.patches.isEmpty ? nil : overlay))
    defer { withExtendedLifetime((formerValue, formerOverlay)) {} }
    // Where something was shown that the node has not any more, it has the sure value for now.
    let (shown, isThere) =
      former == nil ? outcome(of: overlay) : core.unsettle(node) { outcome(of: overlay) }
    guard let shown else { return end(node, leaving: overlay.last) }
    if isThere {
      show(shown, of: node, instead: former, with: overlay.contents)
    } else {
      takeAway(node, leaving: shown)
    }
  }

  /// The value that the changes make of the sure one, and whether there is such an entity then.
  private func outcome(of overlay: EntityOverlay<T>) -> (value: T?, isThere: Bool) {
    var (shown, isThere) = (overlay.base, true)
    for patch in overlay.patches {
      isThere = apply(patch.effect, to: &shown)
      if let shown, patch.bringsEntities { bringAlong(shown, patch.change, with: overlay.contents) }
    }
    return (shown, isThere)
  }

  /// Ends an entity that existed by changes alone.
  /// - Parameter last: The value before, which aggregates keep of an entity that had been removed already.
  private func end(_ node: EntityNode<T>, leaving last: T?) {
    if let last {
      node.setChildren([])
      let former = node.exchange(for: last)
      defer { withExtendedLifetime(former) {} }
      spreadChange(of: node)
    }
    node.removeEverywhere()
  }

  private func show(_ value: T, of node: EntityNode<T>, instead former: T?, with contents: [Handle]) {
    let wasHidden = node.flags.contains(.hidden)
    if wasHidden { show(node) } else if former == nil, isShown(value, by: node) { return }
    let before = former ?? node.built()
    if traits.isAggregate {
      setAggregate(node, to: value, stamp: nil, keepsKnown: true, with: contents)
      takeOutHidden(of: node)
    } else {
      _ = node.exchange(for: value)
    }
    guard wasHidden || !areEqual(before, node.built(), of: node) else {
      if !areSame(before, node.built()) { core.spreadQuietly(from: node) }
      return
    }
    spreadChange(of: node)
    if former == nil, core.isLogging { core.tellStored(T.self, node.value.id) }
  }

  /// Whether a value is shown already, in every field.
  private func isShown(_ value: T, by node: EntityNode<T>) -> Bool {
    let shown = node.read()
    return areEqual(shown, value, of: node) && areSame(shown, value)
  }

  /// There is no such entity for the time being, and what it is in cannot show it any more either.
  private func takeAway(_ node: EntityNode<T>, leaving value: T) {
    hide(node, as: value)
    for change in node.removals where !change.isEnding {
      for container in node.containers { change.takeOut(node, of: container) }
    }
  }

  // MARK: The effects

  /// Whether there is such an entity by the changes.
  func isThere(by overlay: EntityOverlay<T>) -> Bool {
    var shown = overlay.base
    return overlay.patches.reduce(true) { _, patch in apply(patch.effect, to: &shown) }
  }

  /// The changes after which there is no such entity.
  func removals(by overlay: EntityOverlay<T>) -> [TentativeChange] {
    var shown = overlay.base
    return overlay.patches.filter { !apply($0.effect, to: &shown) }.map(\.change)
  }

  /// - Returns: Whether there is an entity then.
  func apply(_ effect: EntityOverlay<T>.Effect, to value: inout T?) -> Bool {
    switch effect {
    case .value(let entity):
      value = entity
    case .brought(let entity):
      if value == nil { value = entity }
    case .change(let change):
      guard let before = value, var changed = value else { return false }
      change(&changed)
      if changed.id == before.id { value = changed }
    case .removal:
      return false
    case .without(let other):
      guard var reduced = value else { return false }
      guard take(other, outOf: &reduced) else { return false }
      value = reduced
    }
    return true
  }
}
