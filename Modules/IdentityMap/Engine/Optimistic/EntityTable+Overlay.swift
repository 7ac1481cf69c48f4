/// The operations that give an entity another ``EntityOverlay``, and so another visible value.
extension EntityTable {
  /// Adds a tentative change of an entity.
  func patch(_ node: EntityNode<T>, _ patch: EntityOverlay<T>.Patch) {
    core.record(node)
    let overlay = node.overlay ?? EntityOverlay(base: node.read(), contents: node.contents)
    setOverlay(overlay.adding(patch), of: node)
  }

  /// Adds a tentative change of an entity and of its nested entities.
  func draft(_ change: @escaping (inout T) -> Void, of node: EntityNode<T>, _ tentative: TentativeChange) {
    // Determined before any change.
    let given = node.upToDateValue()
    let edits = nestedEdits(change, in: given, of: node)
    patch(node, .init(change: tentative, effect: .change(change)))
    tentative.add(node, self)
    let projection = Projection(whole: given, table: self, apply: change)
    for edit in edits { edit.draft(projection, tentative) }
  }

  /// The effect of an aggregate's change on its nested entities.
  private func nestedEdits(
    _ change: (inout T) -> Void, in given: T, of node: EntityNode<T>
  ) -> [NestedEdits.Edit] {
    guard traits.isAggregate else { return [] }
    var changed = given
    change(&changed)
    guard changed.id == given.id else { return [] }
    return NestedEdits(from: given, to: changed, of: node, self).list
  }

  /// Stores an entity tentatively.
  func storeTentatively(_ entity: T, _ patch: EntityOverlay<T>.Patch) -> EntityNode<T> {
    if knownNode(entity.id) == nil { storeNestedEntities(entity, patch.change) }
    // The nested entities may include the entity itself.
    if let node = knownNode(entity.id) {
      self.patch(node, patch)
      return node
    }
    let last = lastValue(of: entity.id)
    let node = putKeepingNested(entity)
    setOverlay(EntityOverlay(base: nil, patches: [patch], last: last), of: node)
    return node
  }

  /// Stores the nested entities of a tentative value. Entities that the store does not have become tentative.
  /// - Parameter contents: The entities of the confirmed value.
  func storeNestedEntities(_ value: T, _ change: TentativeChange, with contents: [Handle] = []) {
    guard traits.isAggregate, !change.isEnding else { return }
    let retainedRemoved = knownNode(value.id)?.retainedRemoved(with: contents) ?? []
    visit(value, NestedEntityInsertion(by: change, keepingRemoved: retainedRemoved))
  }

  /// Stores a nested entity tentatively. An existing entity keeps its value; if another change has stored it, it exists
  /// until both changes have ended.
  func storeNestedTentatively(_ entity: T, _ change: TentativeChange) {
    guard tentativelyRemovedNode(entity.id) == nil else { return }
    guard let node = node(entity.id) else {
      return change.add(storeTentatively(entity, .init(change: change, effect: .nested(entity))), self)
    }
    guard node.isTentative, let overlay = node.overlay, !overlay.hasPatches(of: change) else {
      return
    }
    patch(node, .init(change: change, effect: .nested(node.upToDateValue())))
    change.add(node, self)
  }

  /// Replaces the confirmed value and applies the tentative changes to it.
  func rebase(_ node: EntityNode<T>, on entity: T, stamp: Stamp?, isUpdate: Bool) -> StoreResult<T> {
    node.setStamp(stamp)
    // A value that replaces a change contains its effect already.
    let patches = (node.overlay?.patches ?? []).filter { $0.change !== core.optimistic.replacedChange }
    let visible = node.upToDateValue()
    if traits.isAggregate {
      setAggregate(node, to: entity, stamp: stamp, mode: isUpdate ? .updating : .storing)
    }
    let wasRemoved = node.flags.contains(.tentativelyRemoved)
    // The store of the nested entities can have made excluded entities present again.
    let overlay = EntityOverlay(
      base: entity, patches: patches.compactMap(\.excludingAbsentEntities), contents: node.contents)
    setOverlay(overlay, of: node, replacing: visible)
    if wasRemoved, !node.isAbsent { core.includeInChanges(node) }
    noteWrite(of: node)
    if core.isLogging { core.reportStored(T.self, node.value.id) }
    return StoreResult(node: node, kind: .changed)
  }

  /// The tentative changes without a finally removed entity in the values that they store, so that no later application
  /// of the changes stores the entity again. A value that requires the entity stays.
  func overlay(_ overlay: EntityOverlay<T>, without other: Node) -> EntityOverlay<T> {
    let patches = overlay.patches.map { (patch: EntityOverlay<T>.Patch) -> EntityOverlay<T>.Patch in
      switch patch.effect {
      case .value(var value):
        return remove(other, from: &value) ? .init(change: patch.change, effect: .value(value)) : patch
      case .nested(var value):
        return remove(other, from: &value) ? .init(change: patch.change, effect: .nested(value)) : patch
      case .change, .removal, .without: return patch
      }
    }
    return EntityOverlay(base: overlay.base, patches: patches, contents: overlay.contents, last: overlay.last)
  }

  /// The value without the tentative changes; `nil` when the entity exists by them alone.
  func confirmedValue(of node: EntityNode<T>) -> T? {
    guard let overlay = node.overlay else { return node.upToDateValue() }
    guard var base = overlay.base, let plan = plan(for: base) else { return overlay.base }
    // The nested entities may have changed since.
    LinkCursor.walk(over: contents(of: base)) { plan.writeChildren(&base, along: &$0) }
    return base
  }

  /// Reverts the effects of a change on an entity.
  func revert(_ change: TentativeChange, of node: EntityNode<T>) {
    guard let overlay = node.overlay, overlay.hasPatches(of: change) else { return }
    core.record(node)
    setOverlay(overlay.without(change), of: node)
  }

  /// Confirms a change's effect on an entity. An update of an entity that only another change has stored, and a removal
  /// from such an entity, become parts of that change, and end with it. A removed entity that a later effect has stored
  /// again exists by that effect.
  func confirm(_ change: TentativeChange, of node: EntityNode<T>) {
    guard let overlay = node.overlay, overlay.hasPatches(of: change) else { return }
    core.record(node)
    var (base, last, contents) = (overlay.base, overlay.last, overlay.contents)
    var patches: [EntityOverlay<T>.Patch] = []
    // The value after the effects of all changes so far, of an entity without a confirmed value.
    var visible: T?
    // Whether the effects need the value of another change: from an update without a confirmed value on.
    var needsOther = false
    var isRemoved = false
    for patch in overlay.patches {
      let exists = (overlay.base == nil || isRemoved) && apply(patch.effect, to: &visible)
      guard patch.change === change else {
        patches.append(patch)
        continue
      }
      if base == nil, patch.needsValue { needsOther = true }
      if needsOther, exists, let other = patches.last?.change {
        patches.append(.init(change: other, effect: patch.effect))
        continue
      }
      if apply(patch.effect, to: &base) { continue }
      // The effects so far end with the removed entity.
      if core.graph.keepsRemoved { last = base ?? last }
      (base, visible, patches, contents) = (nil, nil, [], [])
      (isRemoved, needsOther) = (true, false)
    }
    // As when an absent entity is stored.
    if isRemoved, stampMemory == nil { node.stamp = .nan }
    guard base != nil else {
      if isRemoved, !patches.contains(where: \.storesEntity) { return node.removeEverywhere() }
      return setOverlay(EntityOverlay(base: nil, patches: patches, contents: contents, last: last), of: node)
    }
    let identities = Set(contents.map { ObjectIdentifier($0.node) })
    contents += node.contents.filter { !identities.contains(ObjectIdentifier($0.node)) }
    setOverlay(EntityOverlay(base: base, patches: patches, contents: contents), of: node)
  }

  /// Updates an entity that exists by tentative changes alone. The update is a part of the last of them; updates of
  /// confirmed nested entities are confirmed.
  func updateTentative(_ node: EntityNode<T>, from given: T?, to value: T, stamp: Stamp?) {
    guard let change = node.overlay?.patches.last?.change else { return }
    let edits = given.map { NestedEdits(from: $0, to: value, of: node, self).list } ?? []
    patch(node, .init(change: change, effect: .value(value)))
    for edit in edits { edit.store(stamp) }
  }
}
