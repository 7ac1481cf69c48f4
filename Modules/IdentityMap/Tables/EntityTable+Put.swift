extension EntityTable {
  /// Stores an entity and what is in it. The stamp is looked at before anything is touched.
  /// - Parameter isUpdate: The value was made of the stored one.
  func put(_ entity: T, stamp: Stamp?, isUpdate: Bool = false) -> StoreResult<T> {
    let hash = index.hash(entity.id)
    guard let node = index.node(entity.id, hash: hash) else { return create(entity, hash: hash, stamp: stamp) }
    if node.flags.contains(.onPath) { return StoreResult(node: node, outcome: .closesCircle) }
    if node.isVacant && !node.flags.contains(.hidden) { return revive(node, with: entity, stamp: stamp) }
    if let error = refusal(of: stamp, by: node) {
      core.tellRefused(T.self, entity.id, error)
      return StoreResult(node: node, outcome: .refused)
    }
    // What a closure made of the stored value has that in it already.
    let merged = isUpdate ? entity : merged(entity, into: node)
    // The closure that merges may have removed it.
    if node.isVacant && !node.flags.contains(.hidden) { return revive(node, with: merged, stamp: stamp) }
    return replace(node, with: merged, stamp: stamp, isUpdate: isUpdate)
  }

  /// Stores an entity that there is not, and leaves what is in it as it is.
  func putForNow(_ entity: T) -> EntityNode<T> {
    let hash = index.hash(entity.id)
    guard let node = index.node(entity.id, hash: hash) else {
      return create(entity, hash: hash, stamp: nil, mode: .keeping).node
    }
    return revive(node, with: entity, stamp: nil, mode: .keeping).node
  }

  /// The node of an entity, whether there is such an entity or not.
  func nodeInAnyCase(of entity: T) -> EntityNode<T> {
    let hash = index.hash(entity.id)
    if let node = index.node(entity.id, hash: hash) { return node }
    let node = EntityNode(entity, core: core)
    node.flags.insert(.vacant)
    index.insert(node, hash: hash)
    core.loosen(node)
    return node
  }

  /// What the policy makes of the stored value and an incoming one.
  private func merged(_ entity: T, into node: EntityNode<T>) -> T {
    guard let merge = policy.merge, !isOver(node) else { return entity }
    guard let stored = node.overlay == nil ? node.read() : sureValue(of: node) else { return entity }
    let merged = merge(stored, entity)
    return merged.id == entity.id ? merged : entity
  }

  /// Gives a node another value of its entity, whose stamp has been looked at.
  /// - Parameter isUpdate: The value was made of the stored one, so that what closes a circle in it is as old as it was.
  func replace(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, isUpdate: Bool = false
  ) -> StoreResult<T> {
    if core.journal != nil { core.record(node) }
    let entity = isUpdate ? withoutRemoved(entity) : entity
    if node.overlay != nil { return rebase(node, on: entity, stamp: stamp, isUpdate: isUpdate) }
    guard traits.isAggregate else { return replaceLeaf(node, with: entity, stamp: stamp) }
    if node.isDeep { return replaceDeep(node, with: entity, stamp: stamp, isUpdate: isUpdate) }
    let before = node.built()
    defer { withExtendedLifetime(before) {} }
    let isEqual = areEqual(before, entity) || node.closesCircles && areEqual(node.read(), entity)
    let isUnchanged = isEqual && isRepetition(entity, of: node)
    // What is in it can be equal to what is shown and not sure.
    if isUnchanged, stamp == nil, core.openChanges.isEmpty || isUpdate, isUpdate || !node.keepsRemoved {
      return confirm(node, stamp: nil)
    }
    setAggregate(node, to: entity, stamp: stamp, keeping: isUpdate ? node.closedCircles : [], isUpdate: isUpdate)
    takeOutHidden(of: node)
    // Fresher children that were kept can make of another value the same one.
    let isAdjusted = node.flags.contains(.dirty)
    if isEqual || isAdjusted && areEqual(before, node.built()) {
      if !isUnchanged { core.spreadQuietly(from: node) }
      if node.flags.contains(.dirty) { node.isUntold = true }
      let placement = confirm(node, stamp: stamp)
      return isAdjusted ? StoreResult(node: node, outcome: .adjusted) : placement
    }
    node.note(stamp)
    wrote(node)
    return StoreResult(node: node, outcome: isAdjusted ? .adjusted : .changed)
  }

  private func replaceLeaf(_ node: EntityNode<T>, with entity: T, stamp: Stamp?) -> StoreResult<T> {
    if areEqual(node.value, entity) {
      setEqual(node, to: entity)
      return confirm(node, stamp: stamp)
    }
    let former = node.exchange(for: entity)
    defer { withExtendedLifetime(former) {} }
    node.note(stamp)
    wrote(node)
    return StoreResult(node: node, outcome: .changed)
  }

  /// Gives a leaf a value that is equal to its own. The equality may leave fields out, so the value is stored, and
  /// everything that contains the leaf is made of it; nobody is told.
  @usableFromInline func setEqual(_ node: EntityNode<T>, to entity: T) {
    if isRepetition(entity, of: node) { return }
    let former = node.exchange(for: entity)
    defer { withExtendedLifetime(former) {} }
    core.spreadQuietly(from: node)
  }

  /// Whether an equal value is known to be the stored one in every field, so that there is nothing to store.
  ///
  /// The bytes tell, which costs less than `==`. The fields, which cost microseconds, are compared only where it costs
  /// more to make everything anew that contains the entity, and where that closes a circle.
  func isRepetition(_ entity: T, of node: EntityNode<T>) -> Bool {
    if node.closesCircles { return areSame(node.value, entity) || areSame(node.read(), entity) }
    if haveSameBytes(node.value, entity) || node.plan?.isRepetition(entity, of: node.value) ?? false { return true }
    return node.relations.map { $0.parents.count > 64 } ?? false && haveSameFields(node.value, entity)
  }

  /// Takes note of a write that changes nothing, of which nobody is told.
  func confirm(_ node: EntityNode<T>, stamp: Stamp?) -> StoreResult<T> {
    node.note(stamp)
    noteWrite(of: node)
    if core.isLogging { core.tellStored(T.self, node.value.id) }
    return StoreResult(node: node, outcome: .equal)
  }

  /// Sets an aggregate's value and stores what is in it. The caller keeps the former value until all is in order.
  /// - Parameters:
  ///   - keepsKnown: Whether what is stored already is left as it is, whatever the value says of it.
  ///   - kept: Entities that are left as they are in any case.
  ///   - isUpdate: The value was made of the stored one.
  ///   - contents: Entities of the value, beside those of the node, that may be removed ones which it keeps.
  /// - Returns: Whether observers of the aggregate are told of a change of an entity that was in it.
  @discardableResult
  func setAggregate(
    _ node: EntityNode<T>, to entity: T, stamp: Stamp?, keepsKnown: Bool = false, keeping kept: [Node] = [],
    isUpdate: Bool = false, with contents: [Handle] = []
  ) -> Bool {
    // What is stored brings the entities in it; what is shown or updated leaves removed ones as they are.
    let retained = keepsKnown || isUpdate ? node.retained(with: contents) : []
    node.flags.remove(.dirty)
    _ = node.exchange(for: entity)
    guard let plan = plan(for: entity) else {
      node.setChildren([])
      return false
    }
    let mode: ChildCollector.Mode = keepsKnown ? .keeping : isUpdate ? .updating : .storing
    var adoption = ChildCollector(core: core, stamp: stamp, mode: mode, kept: kept, retained: retained)
    node.flags.insert(.onPath)
    core.unsettle(node) { plan.adopt(entity, by: &adoption) }
    let isTold = node.flags.contains(.dirty) && !node.isUntold
    node.flags.remove(.onPath)
    node.relate().plan = plan
    let differs = adoption.link(node)
    if differs { node.flags.insert(.dirty) } else { node.flags.remove(.dirty) }
    return isTold
  }

  private func create(
    _ entity: T, hash: UInt32, stamp: Stamp?, mode: ChildCollector.Mode = .storing
  ) -> StoreResult<T> {
    let node = EntityNode(entity, core: core)
    index.insert(node, hash: hash)
    if let remembered = stampMemory?.stamp(of: entity.id, now: core.now()) {
      // As if it were still there, but that there is no value of it.
      node.stamp = remembered
      node.flags.insert(.vacant)
      return revive(node, with: entity, stamp: stamp, mode: mode)
    }
    // Nothing may hold it; unless somebody does by then, it goes when the transaction ends.
    core.loosen(node)
    if core.journal != nil { recordCreation(of: node) }
    return fill(node, with: entity, stamp: stamp, mode: mode)
  }

  /// Stores an entity that was removed while somebody held it.
  private func revive(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, mode: ChildCollector.Mode = .storing
  ) -> StoreResult<T> {
    let former = node.value
    defer { withExtendedLifetime(former) {} }
    core.loosen(node)
    if stampMemory == nil {
      node.stamp = .nan
    } else if let error = refusal(of: stamp, by: node) {
      core.tellRefused(T.self, entity.id, error)
      return StoreResult(node: node, outcome: .refused)
    }
    if core.journal != nil { core.record(node) }
    node.flags.remove(.vacant)
    return fill(node, with: entity, stamp: stamp, mode: mode)
  }

  private func fill(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, mode: ChildCollector.Mode
  ) -> StoreResult<T> {
    node.note(stamp)
    if traits.isAggregate {
      setAggregate(node, to: entity, stamp: stamp, keepsKnown: mode == .keeping)
      takeOutHidden(of: node)
    } else {
      node.value = entity
    }
    if !isSimple && !queries.isEmpty { node.flags.insert(.queried) }
    wrote(node)
    // It may have gone with what is removed for the time being.
    if !isSimple && !awaited.isEmpty && !node.isVacant { awaited[entity.id]?.entity = node }
    return StoreResult(node: node, outcome: .created)
  }

  /// Has everybody know that a node's value is another one.
  func wrote(_ node: EntityNode<T>) {
    spreadChange(of: node)
    noteWrite(of: node)
    if core.isLogging { core.tellStored(T.self, node.value.id) }
  }

  /// The same without there being a sure value that has come.
  func spreadChange(of node: EntityNode<T>) {
    node.advance()
    if node.relations != nil || !isSimple && !queries.isEmpty { core.spread(from: node) }
    if core.history.isKept { core.history.note(.stored, T.self, node.value.id, origin: core.origin) }
  }

  // MARK: Stamps

  /// Why a value with a stamp may not take the place of a node's.
  func refusal(of stamp: Stamp?, by node: Node) -> StampError? {
    guard let stamp else { return nil }
    if stamp.isNaN { return .notANumber }
    return node.refuses(stamp) ? .tooOld(current: node.stamp, received: stamp) : nil
  }
}
