/// Changes of an entity that are not sure yet, over the value that is.
final class Overlay<T> {
  /// The sure value; `nil` when there is none without the changes.
  let base: T?
  /// In the order in which they were made.
  let patches: [Patch]

  struct Patch {
    let change: ObjectIdentifier
    let apply: @Sendable (inout T) -> Void
  }

  init(base: T?, patches: [Patch] = []) {
    self.base = base
    self.patches = patches
  }
}

extension EntityNode {
  var overlay: Overlay<T>? {
    relations?.overlay.map { unsafeDowncast($0, to: Overlay<T>.self) }
  }
}

extension EntityTable {
  /// Changes an entity for the time being.
  func patch(_ node: EntityNode<T>, _ patch: Overlay<T>.Patch) {
    core.record(node)
    let overlay = node.overlay ?? Overlay(base: node.read())
    setOverlay(Overlay(base: overlay.base, patches: overlay.patches + [patch]), of: node)
  }

  /// Stores an entity for the time being.
  func patchIn(_ entity: T, _ change: ObjectIdentifier) -> EntityNode<T> {
    let patch = Overlay<T>.Patch(change: change) { $0 = entity }
    if let node = node(entity.id) {
      self.patch(node, patch)
      return node
    }
    let node = put(entity, stamp: nil).node
    setOverlay(Overlay(base: nil, patches: [patch]), of: node)
    return node
  }

  /// A sure value takes the place of the one before; the changes that are not sure go on top of it again.
  func rebase(_ node: EntityNode<T>, on entity: T, stamp: Stamp?) -> Placement<T> {
    note(stamp, on: node)
    let patches = node.overlay?.patches ?? []
    if nature.isAggregate { setAggregate(node, to: entity, stamp: stamp) }
    setOverlay(Overlay(base: entity, patches: patches), of: node)
    return Placement(node: node, outcome: .changed)
  }

  /// Takes back what a change did to an entity.
  func takeBack(_ change: ObjectIdentifier, of node: EntityNode<T>) {
    guard let overlay = node.overlay, !node.isVacant else { return }
    core.record(node)
    setOverlay(Overlay(base: overlay.base, patches: overlay.patches.filter { $0.change != change }), of: node)
  }

  /// Makes sure what a change did to an entity.
  func confirm(_ change: ObjectIdentifier, of node: EntityNode<T>) {
    guard let overlay = node.overlay, !node.isVacant else { return }
    core.record(node)
    var base = overlay.base
    for patch in overlay.patches where patch.change == change {
      if base == nil { base = node.value }
      if base != nil { patch.apply(&base!) }
    }
    setOverlay(Overlay(base: base, patches: overlay.patches.filter { $0.change != change }), of: node)
  }

  private func setOverlay(_ overlay: Overlay<T>, of node: EntityNode<T>) {
    node.relate().overlay = overlay.patches.isEmpty ? nil : overlay
    if overlay.patches.isEmpty { node.flags.remove(.overlaid) } else { node.flags.insert(.overlaid) }
    guard var value = overlay.base ?? (overlay.patches.isEmpty ? nil : node.value) else {
      return node.removeEverywhere()
    }
    for patch in overlay.patches {
      let before = value
      patch.apply(&value)
      if value.id != before.id { value = before }
    }
    if areEqual(node.read(), value) { return }
    if nature.isAggregate {
      setAggregate(node, to: value, stamp: nil, keepsKnown: true)
    } else {
      node.value = value
    }
    wrote(node)
  }
}
