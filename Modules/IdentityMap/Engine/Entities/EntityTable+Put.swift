/// Storing on the general path: ``put(_:stamp:mode:)`` checks the stamp and merges by the policy, then creates,
/// revives or replaces the entity. A ``ChildCollector`` stores the nested entities.
extension EntityTable {
  /// Stores an entity and its nested entities. The stamp is checked before any change.
  /// - Parameter mode: The treatment of nested entities; `.updating` if the value was made from the stored one.
  func put(_ entity: T, stamp: Stamp?, mode: ChildCollector.Mode = .storing) -> StoreResult<T> {
    let hash = index.hash(entity.id)
    guard let node = anyNode(entity.id, hash: hash) else {
      return create(entity, hash: hash, stamp: stamp, mode: mode.ofAbsentAggregates)
    }
    if node.flags.contains(.beingStored) { return StoreResult(node: node, kind: .closesCycle) }
    if retention != nil { removeIfExpired(node) }
    if node.isRemoved { return revive(node, with: entity, stamp: stamp, mode: mode.ofAbsentAggregates) }
    if let error = rejection(of: stamp, by: node) {
      core.reportRejected(T.self, entity.id, error)
      return StoreResult(node: node, kind: .rejected)
    }
    // The result of a closure contains the stored value already.
    let merged = mode == .updating ? entity : merged(entity, into: node)
    // The closure that merges may have removed the entity.
    if node.isRemoved { return revive(node, with: merged, stamp: stamp, mode: mode.ofAbsentAggregates) }
    let result = replace(node, with: merged, stamp: stamp, mode: mode)
    guard mode != .updating, policy.merge != nil, result.isInputValue else { return result }
    // An aggregate that is stored with the entity has the given value, and gets the merged one by its next rebuild.
    return StoreResult(node: node, kind: .adjusted)
  }

  /// Stores an absent entity. Its nested entities keep the values that the store has.
  func putKeepingNested(_ entity: T) -> EntityNode<T> {
    let hash = index.hash(entity.id)
    guard let node = anyNode(entity.id, hash: hash) else {
      return create(entity, hash: hash, stamp: nil, mode: .keepingExisting).node
    }
    return revive(node, with: entity, stamp: nil, mode: .keepingExisting).node
  }

  /// Returns the node of an entity; makes an absent node when the identifier is unknown.
  func nodeOrPlaceholder(for entity: T) -> EntityNode<T> {
    let hash = index.hash(entity.id)
    if let node = anyNode(entity.id, hash: hash) { return node }
    let node = EntityNode(entity, core: core)
    node.flags.insert(.absent)
    index.insert(node, hash: hash)
    core.pending.addEvictionCandidate(node)
    return node
  }

  /// Returns the merge of the stored and the incoming value by the policy.
  private func merged(_ entity: T, into node: EntityNode<T>) -> T {
    guard let merge = policy.merge, !isExpired(node) else { return entity }
    guard let stored = node.overlay == nil ? node.read() : confirmedValue(of: node) else { return entity }
    let merged = merge(stored, entity)
    return merged.id == entity.id ? merged : entity
  }

  /// Replaces the value of an entity after the check of the stamp.
  /// - Parameter mode: The treatment of nested entities. With `.updating`, for a value made from the stored one, entities
  ///   that close a cycle in it keep their values.
  func replace(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, mode: ChildCollector.Mode
  ) -> StoreResult<T> {
    if core.undo.log != nil { core.record(node) }
    let isUpdate = mode == .updating
    let entity = isUpdate ? withoutRemoved(entity) : entity
    if node.overlay != nil { return rebase(node, on: entity, stamp: stamp, mode: mode) }
    guard traits.isAggregate else { return replaceLeaf(node, with: entity, stamp: stamp) }
    if node.isDeep { return replaceDeep(node, with: entity, stamp: stamp, mode: mode) }
    let before = node.upToDateValue()
    defer { withExtendedLifetime(before) {} }
    let isEqual = areEqual(before, entity) || node.hasCycleLinks && areEqual(node.read(), entity)
    let isUnchanged = isEqual && isRepetition(entity, of: node)
    // Below a value that is being stored, the node could stay dirty without its aggregates.
    if isUnchanged, !isUpdate, core.graph.inconsistentNodes == 0 { renewCycleLinks(of: node) }
    // Nested entities can be equal to the visible values and still be tentative. Then they have to be stored to become
    // confirmed.
    if isUnchanged, stamp == nil, core.optimistic.openChanges.isEmpty || isUpdate, isUpdate || !node.keepsRemoved {
      return noteRepeatedWrite(node, stamp: nil)
    }
    setAggregate(node, to: entity, stamp: stamp, mode: mode)
    excludeTentativelyRemoved(from: node)
    // Nested entities that kept newer values can make the value equal to the former one.
    let isAdjusted = node.flags.contains(.dirty)
    return finishReplacement(
      of: node, stamp: stamp, isEqual: isEqual || isAdjusted && areEqual(before, node.upToDateValue()),
      isRepeated: isUnchanged, isAdjusted: isAdjusted)
  }

  /// Ends the replacement of an aggregate's value: observers are notified unless the new value is equal.
  /// - Parameters:
  ///   - isEqual: Whether the new value is equal to the former one.
  ///   - isRepeated: Whether the new value is known to be identical in every field.
  ///   - isAdjusted: Whether the new value differs from the given one; see ``StoreResult/Kind/adjusted``.
  func finishReplacement(
    of node: EntityNode<T>, stamp: Stamp?, isEqual: Bool, isRepeated: Bool, isAdjusted: Bool
  ) -> StoreResult<T> {
    guard isEqual else {
      node.setStamp(stamp)
      didWrite(node)
      return StoreResult(node: node, kind: isAdjusted ? .adjusted : .changed)
    }
    if !isRepeated { core.propagateSilently(from: node) }
    if node.flags.contains(.dirty) { node.isSilentlyDirty = true }
    let result = noteRepeatedWrite(node, stamp: stamp)
    return isAdjusted ? StoreResult(node: node, kind: .adjusted) : result
  }

  private func replaceLeaf(_ node: EntityNode<T>, with entity: T, stamp: Stamp?) -> StoreResult<T> {
    if areEqual(node.value, entity) {
      setEqual(node, to: entity)
      return noteRepeatedWrite(node, stamp: stamp)
    }
    let former = node.exchange(for: entity)
    defer { withExtendedLifetime(former) {} }
    node.setStamp(stamp)
    didWrite(node)
    return StoreResult(node: node, kind: .changed)
  }

  /// Stores an equal value in a leaf. The equality may ignore fields, so aggregates are rebuilt; observers are not
  /// notified.
  @usableFromInline func setEqual(_ node: EntityNode<T>, to entity: T) {
    if isRepetition(entity, of: node) { return }
    let former = node.exchange(for: entity)
    defer { withExtendedLifetime(former) {} }
    core.propagateSilently(from: node)
  }

  /// Whether an equal value is known to be identical in every field, so that nothing has to be stored.
  ///
  /// Bytes are compared first, which costs less than `==`. Fields are compared by reflection, which takes microseconds,
  /// only for entities in many aggregates and in cycles: storing them costs more.
  func isRepetition(_ entity: T, of node: EntityNode<T>) -> Bool {
    if node.hasCycleLinks { return areIdentical(node.value, entity) || areIdentical(node.read(), entity) }
    if haveSameBytes(node.value, entity) || node.plan?.isRepetition(entity, of: node.value) ?? false { return true }
    return node.relations.map { $0.parents.count > 64 } ?? false && haveSameFields(node.value, entity)
  }

  /// Records a write of an equal value. Observers are not notified.
  func noteRepeatedWrite(_ node: EntityNode<T>, stamp: Stamp?) -> StoreResult<T> {
    node.setStamp(stamp)
    noteWrite(of: node)
    if core.isLogging { core.reportStored(T.self, node.value.id) }
    return StoreResult(node: node, kind: .equal)
  }

  /// Sets the value of an aggregate and stores its nested entities. The caller retains the former value until the node
  /// is consistent.
  /// - Parameters:
  ///   - mode: The treatment of existing nested entities. Entities that close a cycle in the stored value keep their
  ///     values in an update.
  ///   - confirmedContents: Entities of the confirmed value, among them removed ones whose last values it has.
  /// - Returns: Whether a change of a nested entity notifies the observers of the aggregate.
  @discardableResult
  func setAggregate(
    _ node: EntityNode<T>, to entity: T, stamp: Stamp?, mode: ChildCollector.Mode, confirmedContents: [Handle] = []
  ) -> Bool {
    let unchanged = mode == .updating ? node.cycleChildren : []
    // A stored value restores removed entities; an update or a tentative value leaves them removed.
    let retainedRemoved = mode == .storing || mode == .adding ? [] : node.retainedRemoved(with: confirmedContents)
    node.flags.remove(.dirty)
    _ = node.exchange(for: entity)
    guard let plan = plan(for: entity) else {
      node.setChildren([])
      return false
    }
    var collector = ChildCollector(
      core: core, stamp: stamp, mode: mode, unchanged: unchanged, retainedRemoved: retainedRemoved)
    node.flags.insert(.beingStored)
    core.whileInconsistent(node) { plan.collect(entity, into: &collector) }
    let isReported = node.flags.contains(.dirty) && !node.isSilentlyDirty
    node.flags.remove(.beingStored)
    node.makeRelations().plan = plan
    let differs = collector.link(node)
    if differs { node.flags.insert(.dirty) } else { node.flags.remove(.dirty) }
    return isReported
  }

  private func create(
    _ entity: T, hash: UInt32, stamp: Stamp?, mode: ChildCollector.Mode = .storing
  ) -> StoreResult<T> {
    let node = EntityNode(entity, core: core)
    index.insert(node, hash: hash)
    if let remembered = stampMemory?.stamp(of: entity.id, now: core.now()) {
      // The remembered stamp rejects older values, as if the entity had not been evicted.
      node.stamp = remembered
      node.flags.insert(.absent)
      return revive(node, with: entity, stamp: stamp, mode: mode)
    }
    // The end of the transaction evicts the node unless the transaction adds a reason to retain it.
    core.pending.addEvictionCandidate(node)
    if core.undo.log != nil { recordCreation(of: node) }
    return fill(node, with: entity, stamp: stamp, mode: mode)
  }

  /// Stores an absent entity in its node, which handles or aggregates retain.
  private func revive(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, mode: ChildCollector.Mode = .storing
  ) -> StoreResult<T> {
    let former = node.value
    defer { withExtendedLifetime(former) {} }
    core.pending.addEvictionCandidate(node)
    if stampMemory == nil {
      // Without a memory of stamps, the stamp of a removed entity rejects nothing.
      node.stamp = .nan
    } else if let error = rejection(of: stamp, by: node) {
      core.reportRejected(T.self, entity.id, error)
      return StoreResult(node: node, kind: .rejected)
    }
    if core.undo.log != nil { core.record(node) }
    node.flags.remove(.absent)
    return fill(node, with: entity, stamp: stamp, mode: mode)
  }

  /// Sets the value of a node without an entity, and makes the entity present.
  private func fill(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, mode: ChildCollector.Mode
  ) -> StoreResult<T> {
    node.setStamp(stamp)
    if traits.isAggregate {
      setAggregate(node, to: entity, stamp: stamp, mode: mode)
      excludeTentativelyRemoved(from: node)
    } else {
      node.value = entity
    }
    if !storesPlainLeaves && !queries.isEmpty { node.flags.insert(.queried) }
    didWrite(node)
    // Excluding a tentatively removed entity can have removed the aggregate.
    if !storesPlainLeaves && !observedIdentifiers.isEmpty && !node.isAbsent {
      observedIdentifiers[entity.id]?.entity = node
    }
    return StoreResult(node: node, kind: .created)
  }

  /// Propagates and records the write of another value.
  func didWrite(_ node: EntityNode<T>) {
    didChangeValue(of: node)
    noteWrite(of: node)
    if core.isLogging { core.reportStored(T.self, node.value.id) }
  }

  /// Propagates a change of the visible value, without recording a write.
  func didChangeValue(of node: EntityNode<T>) {
    node.advanceVersion()
    if node.relations != nil || !storesPlainLeaves && !queries.isEmpty { core.propagate(from: node) }
    if core.instrumentation.changeLog.isKept {
      core.instrumentation.changeLog.note(.stored, T.self, node.value.id, origin: core.instrumentation.origin)
    }
  }

  // MARK: Stamps

  /// Returns the reason why a value with a stamp is rejected; `nil` if the value is accepted.
  func rejection(of stamp: Stamp?, by node: Node) -> StampError? {
    guard let stamp else { return nil }
    if stamp.isNaN { return .notANumber }
    return node.rejects(stamp) ? .tooOld(current: node.stamp, received: stamp) : nil
  }
}
