/// Changes of an entity that are not sure yet, over the value that is.
final class Overlay<T> {
  /// The sure value; `nil` when there is none without the changes.
  let base: T?
  /// In the order in which they were made.
  let patches: [Patch]
  /// What is in the sure value, kept so that it is still there when it is shown again.
  let contents: [Handle]

  struct Patch {
    let change: OptimisticEntries
    let effect: Effect
  }

  enum Effect {
    /// Other fields.
    case change(@Sendable (inout T) -> Void)
    /// Another value, also when there was none.
    case value(T)
    /// None any more.
    case removal
    /// Another entity is taken out, which is removed for the time being.
    case without(Node)
  }

  init(base: T?, patches: [Patch] = [], contents: [Handle] = []) {
    self.base = base
    self.patches = patches
    self.contents = contents
  }

  /// The same without what a change did.
  func without(_ change: OptimisticEntries) -> Overlay {
    Overlay(base: base, patches: patches.filter { $0.change !== change }, contents: contents)
  }
}

extension EntityNode {
  var overlay: Overlay<T>? {
    relations?.overlay.map { unsafeDowncast($0, to: Overlay<T>.self) }
  }

  /// Keep what is in the value.
  fileprivate var contents: [Handle] {
    relations?.children.map { Handle.of($0.child) } ?? []
  }
}

extension EntityTable {
  /// Changes an entity for the time being.
  func patch(_ node: EntityNode<T>, _ patch: Overlay<T>.Patch) {
    core.record(node)
    let overlay = node.overlay ?? Overlay(base: node.read(), contents: node.contents)
    setOverlay(
      Overlay(base: overlay.base, patches: overlay.patches + [patch], contents: overlay.contents), of: node)
  }

  /// Stores an entity for the time being.
  func patchIn(_ entity: T, _ change: OptimisticEntries) -> EntityNode<T> {
    let patch = Overlay<T>.Patch(change: change, effect: .value(entity))
    if let node = node(entity.id) ?? hiddenNode(entity.id) {
      self.patch(node, patch)
      return node
    }
    let node = putForNow(entity)
    setOverlay(Overlay(base: nil, patches: [patch]), of: node)
    return node
  }

  /// A sure value takes the place of the one before; the changes that are not sure go on top of it again.
  func rebase(_ node: EntityNode<T>, on entity: T, stamp: Stamp?, isUpdate: Bool) -> Placement<T> {
    node.note(stamp)
    let patches = node.overlay?.patches ?? []
    let shown = node.built()
    if nature.isAggregate {
      setAggregate(
        node, to: entity, stamp: stamp, keeping: isUpdate ? node.closedCircles : [], isUpdate: isUpdate)
    }
    setOverlay(Overlay(base: entity, patches: patches, contents: node.contents), of: node, instead: shown)
    noteWrite(of: node)
    if core.isLogging { core.tellStored(T.self, node.value.id) }
    return Placement(node: node, outcome: .changed)
  }

  /// The value without the changes that are not sure; `nil` when there is none.
  func sureValue(of node: EntityNode<T>) -> T? {
    guard let overlay = node.overlay else { return node.built() }
    guard var base = overlay.base, let plan = plan(for: base) else { return overlay.base }
    // What is in it may have changed since.
    LinkCursor.walk(over: contents(of: base)) { plan.refresh(&base, along: &$0) }
    return base
  }

  /// Takes back what a change did to an entity.
  func takeBack(_ change: OptimisticEntries, of node: EntityNode<T>) {
    guard let overlay = node.overlay else { return }
    core.record(node)
    setOverlay(overlay.without(change), of: node)
  }

  /// Makes sure what a change did to an entity.
  func confirm(_ change: OptimisticEntries, of node: EntityNode<T>) {
    guard let overlay = node.overlay else { return }
    core.record(node)
    var base = overlay.base
    for patch in overlay.patches where patch.change === change {
      guard apply(patch.effect, to: &base) else { return node.removeEverywhere() }
    }
    let patches = overlay.without(change).patches
    let known = Set(overlay.contents.map { ObjectIdentifier($0.node) })
    let contents = overlay.contents + node.contents.filter { !known.contains(ObjectIdentifier($0.node)) }
    setOverlay(Overlay(base: base, patches: patches, contents: contents), of: node)
  }

  /// - Parameter former: What was shown until now; the node's value, if nothing is said.
  func setOverlay(_ overlay: Overlay<T>, of node: EntityNode<T>, instead former: T? = nil) {
    node.relate().overlay = overlay.patches.isEmpty ? nil : overlay
    if overlay.patches.isEmpty { node.flags.remove(.overlaid) } else { node.flags.insert(.overlaid) }
    var shown = overlay.base
    var isThere = true
    for patch in overlay.patches { isThere = apply(patch.effect, to: &shown) }
    guard let value = shown else { return node.removeEverywhere() }
    guard isThere else {
      hide(node, as: value)
      // What it is in cannot show it any more either.
      for change in node.removals where !change.isEnding {
        for container in node.containers { change.takeOut(node, of: container) }
      }
      return
    }
    let wasHidden = node.flags.contains(.hidden)
    if wasHidden { show(node) } else if former == nil, areEqual(node.read(), value) { return }
    let before = former ?? node.built()
    if nature.isAggregate {
      setAggregate(node, to: value, stamp: nil, keepsKnown: true)
      takeOutHidden(of: node)
    } else {
      node.value = value
    }
    guard wasHidden || !areEqual(before, node.built()) else { return }
    spreadChange(of: node)
    if former == nil, core.isLogging { core.tellStored(T.self, node.value.id) }
  }

  /// The changes after which there is no such entity.
  func removals(by overlay: Overlay<T>) -> [OptimisticEntries] {
    var shown = overlay.base
    return overlay.patches.filter { !apply($0.effect, to: &shown) }.map(\.change)
  }

  /// - Returns: Whether there is an entity then.
  private func apply(_ effect: Overlay<T>.Effect, to value: inout T?) -> Bool {
    switch effect {
    case .value(let entity):
      value = entity
    case .change(let change):
      guard let before = value, var changed = value else { return false }
      change(&changed)
      if changed.id == before.id { value = changed }
    case .removal:
      return false
    case .without(let other):
      guard var reduced = value else { return false }
      guard take(other, outOf: &reduced), reduced.id == value?.id else { return false }
      value = reduced
    }
    return true
  }
}
