/// Entities that are removed for the time being: there is no such entity, but its node has what is needed to bring it
/// back, and takes the sure values that come meanwhile.
extension EntityTable {
  /// The node of an entity that is removed for the time being.
  func hiddenNode(_ id: T.ID) -> EntityNode<T>? {
    guard let node = index.node(id, hash: index.hash(id)), node.flags.contains(.hidden) else { return nil }
    return node
  }

  /// Lets there be no entity any more, for the time being.
  /// - Parameter value: What it will be when it is back.
  func hide(_ node: EntityNode<T>, as value: T) {
    let wasThere = !node.isVacant
    node.value = value
    node.setHidden(true)
    node.flags.insert(.vacant)
    guard wasThere else { return }
    isGone(node, id: value.id, forNow: true)
    node.version &+= 1
    core.spread(from: node)
    core.loosen(node)
  }

  /// Lets there be an entity again. Its value is set afterwards.
  func show(_ node: EntityNode<T>) {
    node.setHidden(false)
    node.flags.remove(.vacant)
    isBack(node)
  }

  /// An aggregate that has come with something that is removed for the time being does not show it either.
  func takeOutHidden(of node: EntityNode<T>) {
    guard core.hiddenNodes > 0, let relations = node.relations else { return }
    var met: Set<ObjectIdentifier> = []
    for child in relations.children.map(\.child) where child.flags.contains(.hidden) {
      guard met.insert(ObjectIdentifier(child)).inserted else { continue }
      for change in (child as? any Node & Hideable)?.removals ?? [] where !change.isEnding {
        change.takeOut(child, of: node)
      }
    }
  }

  /// Takes another entity out of a value.
  /// - Returns: Whether the value can be without it.
  func take(_ other: Node, outOf value: inout T) -> Bool {
    guard let plan = plan(for: value) else { return true }
    return LinkCursor.walk(over: contents(of: value), removing: other) { !plan.remove(from: &value, along: &$0) }
  }

  /// Another entity is removed that what is shown cannot be without. If the sure value can, that is shown from now on: the
  /// changes cannot be right.
  /// - Returns: Whether there is such a value.
  func fallBack(_ node: EntityNode<T>, without other: Node) -> Bool {
    guard let overlay = node.overlay, var base = overlay.base else { return false }
    guard take(other, outOf: &base), base.id == node.value.id else { return false }
    // Removals stay, whatever the value is.
    let patches = overlay.patches.filter { patch in
      switch patch.effect {
      case .change, .value: false
      case .removal, .without: true
      }
    }
    setOverlay(Overlay(base: base, patches: patches, contents: overlay.contents), of: node)
    return true
  }

  /// The nodes of the entities in a value, in the order in which they are met, whether there are such entities any more
  /// or not.
  func contents(of value: T) -> [Node] {
    guard let plan = plan(for: value) else { return [] }
    var adoption = Adoption(core: core, stamp: nil, mode: .gathering)
    plan.adopt(value, by: &adoption)
    return adoption.children
  }
}

/// What has to be done in a node's own type when an entity is removed for the time being.
protocol Hideable: Node {
  func patch(removing other: Node?, for change: OptimisticEntries)
  /// The changes by which the entity is removed for the time being.
  var removals: [OptimisticEntries] { get }
}

extension EntityNode: Hideable {
  /// Removes the entity itself, or another one out of it, for the time being.
  func patch(removing other: Node?, for change: OptimisticEntries) {
    let table = core.table(of: T.self)
    table.patch(self, .init(change: change, effect: other.map { .without($0) } ?? .removal))
    change.keep(self, table)
  }

  var removals: [OptimisticEntries] {
    overlay.map { core.table(of: T.self).removals(by: $0) } ?? []
  }

  /// Another entity is removed for good: out of the sure value too, and no more for the time being.
  func forget(_ other: Node) {
    guard let overlay, var base = overlay.base, !overlay.contents.isEmpty else { return }
    let patches = overlay.patches.filter { if case .without(let taken) = $0.effect { taken !== other } else { true } }
    let contents = overlay.contents.filter { $0.node !== other }
    guard patches.count < overlay.patches.count || contents.count < overlay.contents.count else { return }
    core.record(self)
    let table = core.table(of: T.self)
    guard table.take(other, outOf: &base), base.id == value.id else { return removeEverywhere() }
    let sure = Overlay(base: base, patches: patches, contents: contents)
    if patches.count < overlay.patches.count { return table.setOverlay(sure, of: self) }
    relations?.overlay = sure
  }
}

extension OptimisticEntries {
  /// Takes an entity that is removed for the time being out of another aggregate, which goes too if it has to.
  func takeOut(_ entity: Node, of aggregate: some Node & Hideable) {
    aggregate.patch(removing: entity, for: self)
    guard aggregate.isVacant else { return }
    for container in aggregate.containers { takeOut(aggregate, of: container) }
  }

  /// Removes an entity for the time being: from the aggregates that it is in, and then itself. Aggregates that cannot be
  /// without it are removed with it.
  func remove(_ entity: some Node & Hideable) {
    var doomed: [any Node & Hideable] = [entity]
    var next = 0
    while next < doomed.count {
      let node = doomed[next]
      next += 1
      for parent in node.containers {
        parent.patch(removing: node, for: self)
        if parent.isVacant { doomed.append(parent) }
      }
    }
    // The entities after the aggregates, which need them when everything is taken back: the last is the first then.
    for node in doomed.reversed() where !node.isVacant { node.patch(removing: nil, for: self) }
  }
}

extension Node {
  /// Says whether the node stands for an entity that is removed for the time being.
  func setHidden(_ isHidden: Bool) {
    guard flags.contains(.hidden) != isHidden else { return }
    if isHidden { flags.insert(.hidden) } else { flags.remove(.hidden) }
    core.hiddenNodes += isHidden ? 1 : -1
  }

  /// The aggregates that the node is in, each once.
  var containers: [any Node & Hideable] {
    var met: Set<ObjectIdentifier> = []
    return (relations?.parents.map(\.parent) ?? []).compactMap { parent in
      guard !parent.isVacant, met.insert(ObjectIdentifier(parent)).inserted else { return nil }
      return parent as? any Node & Hideable
    }
  }
}
