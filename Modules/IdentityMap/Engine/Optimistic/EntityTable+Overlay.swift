/// The operations that give an entity another ``EntityOverlay``, and so another visible value.
extension EntityTable {
  /// Adds a tentative change of an entity.
  func patch(_ node: EntityNode<T>, _ patch: EntityOverlay<T>.Patch) {
    core.record(node)
    guard let overlay = node.overlay else {
      // Not `read()`, whose value has the current values of entities that close a cycle: each such confirmed value would
      // be deeper than the one before.
      let made = EntityOverlay<T>(base: node.upToDateValue(), contents: node.contents)
      return setOverlay(made.adding(patch), of: node)
    }
    let extended = overlay.adding(patch)
    setOverlay(patch.isClosure ? withCurrentEntities(extended, of: node) : extended, of: node)
  }

  /// The tentative changes over the confirmed value with the current values of its nested entities, which the closures
  /// receive. If nested entities have tentative changes, their visible values are no part of the confirmed value.
  private func withCurrentEntities(_ overlay: EntityOverlay<T>, of node: EntityNode<T>) -> EntityOverlay<T> {
    guard traits.isAggregate, var base = overlay.base, overlay.patches.contains(where: \.isClosure),
      !core.hasTentativeChanges(in: contents(of: base))
    else { return overlay }
    rewrite(&base, CurrentEntities(except: node.cycleChildren))
    return EntityOverlay(base: base, patches: overlay.patches, contents: overlay.contents, last: overlay.last)
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

  /// Stores the nested entities of a tentative value. Entities that the store does not have become tentative. An ending
  /// change stores none, because the loop that ends its effects would miss the new ones.
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

  /// Replaces the confirmed value of an entity with tentative changes, and applies the changes to it. Called for each
  /// write of such an entity, after the check of the stamp.
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
    // Nested entities with higher stamps have kept their values.
    setOverlay(withCurrentEntities(overlay, of: node), of: node, replacing: visible)
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
    guard var base = overlay.base else { return nil }
    // The nested entities may have changed since.
    rewrite(&base, CurrentEntities(except: node.cycleChildren))
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
      // Whether the entity exists after the effect, by tentative changes alone.
      let exists = (overlay.base == nil || isRemoved) && apply(patch.effect, to: &visible)
      guard patch.change === change else {
        patches.append(patch)
        continue
      }
      if base == nil, patch.needsValue { needsOther = true }
      // The change that stores the entity, and not a later update of it, which can be rolled back alone.
      if needsOther, exists, let other = patches.last(where: \.storesEntity)?.change {
        append(.init(change: other, effect: patch.effect), to: &patches)
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
    contents = base.map { handles(to: $0, among: contents + node.contents) } ?? []
    setOverlay(EntityOverlay(base: base, patches: patches, contents: contents), of: node)
  }

  /// Adds an effect that becomes a part of another change. A closure after the value that the change stores is applied
  /// to that value, so that the number of patches does not grow with the confirmed updates.
  private func append(_ patch: EntityOverlay<T>.Patch, to patches: inout [EntityOverlay<T>.Patch]) {
    if let last = patches.last, last.change === patch.change, case .value(let value) = last.effect, patch.isClosure {
      var changed: T? = value
      _ = apply(patch.effect, to: &changed)
      patches[patches.count - 1] = .init(change: last.change, effect: .value(changed ?? value))
    } else {
      patches.append(patch)
    }
  }

  /// Handles that retain the nested entities of a confirmed value, each once. Entities that only a replaced value
  /// contains are not retained, and entities that other changes hide are.
  /// - Parameter former: The handles before. A removed entity is only retained if the value has kept its last value.
  private func handles(to value: T, among former: [Handle]) -> [Handle] {
    let formerNodes = Set(former.map { ObjectIdentifier($0.node) })
    var seen: Set<ObjectIdentifier> = []
    return contents(of: value).filter { node in
      (!node.isRemoved || formerNodes.contains(ObjectIdentifier(node))) && seen.insert(ObjectIdentifier(node)).inserted
    }.map { Handle.of($0) }
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

/// Returns the nodes of the nested entities of a value, up to date. Entities that close a cycle keep the values that
/// the value has of them: a confirmed value that takes their current values would be deeper after each write.
private final class CurrentEntities: EntityVisitor {
  private let excluded: Set<ObjectIdentifier>

  init(except excluded: [Node]) {
    self.excluded = Set(excluded.map { ObjectIdentifier($0) })
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    guard let node = table.anyNode(entity.id), !excluded.contains(ObjectIdentifier(node)) else {
      return table.temporaryNode(entity)
    }
    table.core.bringUpToDate(node)
    return node
  }
}
