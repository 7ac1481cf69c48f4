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
  func rebase(
    _ node: EntityNode<T>, on entity: T, stamp: Stamp?, mode: ChildCollector.Mode
  ) -> StoreResult<T> {
    node.setStamp(stamp)
    // A value that replaces a change contains its effect already.
    let patches = (node.overlay?.patches ?? []).filter { $0.change !== core.optimistic.replacedChange }
    let visible = node.upToDateValue()
    if traits.isAggregate {
      setAggregate(node, to: entity, stamp: stamp, mode: mode)
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

  /// The value of an entity that exists by tentative changes alone, by the change that stores the entity: updates by
  /// other changes, which can be rolled back alone, lie on top of it. The nested entities may have changed since.
  func storedValue(of node: EntityNode<T>) -> T {
    guard let patches = node.overlay?.storingPatches else { return node.upToDateValue() }
    var stored: T?
    for patch in patches { _ = apply(patch.effect, to: &stored) }
    return stored ?? node.upToDateValue()
  }

  /// Updates an entity that exists by tentative changes alone. The update is a part of the change that stores the
  /// entity; updates of confirmed nested entities are confirmed.
  func updateTentative(_ node: EntityNode<T>, from given: T?, to value: T, stamp: Stamp?) {
    guard let overlay = node.overlay else { return }
    let edits = given.map { NestedEdits(from: $0, to: value, of: node, self).list } ?? []
    core.record(node)
    setOverlay(overlay.storing(value), of: node)
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

/// Returns the nodes of the nested entities of a value, with the values that an update of each entity receives: an open
/// change of the entity lies on top of the update, and must not have its effect twice. Entities that close a cycle keep
/// the values that the value has of them.
final class UpdateBases: EntityVisitor {
  /// The entities whose values are being visited, each with those that close a cycle in its value.
  private var path: [ObjectIdentifier] = []

  /// The value below the updates by open changes: the confirmed value, or that of the change that stores the entity.
  func base<T: Identifiable & Sendable>(of node: EntityNode<T>, _ table: EntityTable<T>) -> T {
    var value = table.confirmedValue(of: node) ?? table.storedValue(of: node)
    let depth = path.count
    path.append(ObjectIdentifier(node))
    path += node.cycleChildren.map { ObjectIdentifier($0) }
    table.rewrite(&value, self)
    path.removeLast(path.count - depth)
    return value
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    guard let node = table.node(entity.id), !path.contains(ObjectIdentifier(node)) else {
      return table.temporaryNode(entity)
    }
    table.core.bringUpToDate(node)
    guard table.core.hasTentativeChanges(in: [node]) else { return node }
    return table.temporaryNode(base(of: node, table))
  }
}
