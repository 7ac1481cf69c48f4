/// Collects the nodes of the entities in a value, in the order of the value. By its mode, it also stores the entities.
@usableFromInline
struct ChildCollector {
  @usableFromInline let core: StoreCore
  /// The treatment of existing entities.
  @usableFromInline let mode: Mode
  /// The nodes that close a cycle, in an update: their entities keep the stored values, even if the collected value has
  /// other values of them.
  private let unchanged: [Node]
  /// Removed entities whose last values the aggregate keeps.
  private let retainedRemoved: [Node]
  /// Visits the entities instead of storing them.
  private let visitor: (any EntityVisitor)?
  /// The stamp of the aggregate and of all its entities.
  @usableFromInline let stamp: Stamp?
  @usableFromInline var children: [Node] = []
  /// For each child, the version of its value in the aggregate's value. A lower version than the node's marks a child
  /// whose value may differ from the collected one: the next rebuild writes it into the aggregate.
  @usableFromInline var versions: [UInt32] = []

  @usableFromInline enum Mode {
    /// Every entity gets the value that the aggregate has of it.
    case storing
    /// A closure made the aggregate from the stored one: entities that it left unchanged are not written.
    case updating
    /// A closure added the aggregate. Every entity gets the value that the aggregate has of it, unless it is the value
    /// that the closure received: another occurrence of the entity may have been changed.
    case adding
    /// Existing entities keep their values, even where the aggregate has others.
    case keepingExisting
    /// Existing entities keep their values; other entities get absent nodes.
    case lookingUp

    /// The mode for the entities of an aggregate that the store does not have.
    var ofAbsentAggregates: Mode { self == .updating ? .adding : self }
  }

  init(
    core: StoreCore, stamp: Stamp?, mode: Mode = .storing, unchanged: [Node] = [], retainedRemoved: [Node] = []
  ) {
    self.init(
      core: core, stamp: stamp, mode: mode, unchanged: unchanged, retainedRemoved: retainedRemoved, visitor: nil)
  }

  /// Shows the entities to a visitor, whose nodes become the children.
  init(core: StoreCore, stamp: Stamp?, visitor: any EntityVisitor) {
    self.init(core: core, stamp: stamp, mode: .lookingUp, unchanged: [], retainedRemoved: [], visitor: visitor)
  }

  private init(
    core: StoreCore, stamp: Stamp?, mode: Mode, unchanged: [Node], retainedRemoved: [Node],
    visitor: (any EntityVisitor)?
  ) {
    self.retainedRemoved = retainedRemoved
    self.visitor = visitor
    self.unchanged = unchanged
    self.core = core
    self.mode = mode
    self.stamp = stamp
  }

  @inlinable mutating func collect<T: Identifiable & Sendable>(_ entity: T) {
    let table = core.table(of: T.self)
    guard mode == .storing, let node = table.collectLeaf(entity, stamp: stamp) else {
      return collectGeneral(entity)
    }
    children.append(node)
    versions.append(node.version)
  }

  @usableFromInline mutating func collectGeneral<T: Identifiable & Sendable>(_ entity: T) {
    let table = core.table(of: T.self)
    if let visitor {
      let node = visitor.visit(entity, of: table)
      children.append(node)
      return versions.append(node.version &- 1)
    }
    if let node = nodeThatKeepsValue(of: entity, in: table) {
      children.append(node)
      versions.append(node.version &- 1)
      return
    }
    let isFromClosure = mode == .updating || mode == .adding
    if isFromClosure {
      if let node = nodeUnchangedByClosure(entity, in: table) {
        children.append(node)
        // The collected value is the one that the closure received. The node has another value at most by a tentative
        // change, by the closure's own use of the store, or by a changed occurrence of the entity.
        let isInputValue =
          core.optimistic.openChanges.isEmpty && !node.flags.contains(.dirty) && core.edits?.given == nil
          && core.edits?.formerValue(of: node) == nil
          && !(table.traits.isAggregate && core.edits?.hasChanges == true)
        return versions.append(isInputValue ? node.version : node.version &- 1)
      }
      noteEdit(entity, in: table)
    }
    let result = table.put(entity, stamp: stamp, mode: isFromClosure ? mode : .storing)
    if mode == .updating, result.kind == .rejected { core.edits?.noteRejection(by: result.node) }
    children.append(result.node)
    versions.append(result.isInputValue ? result.node.version : result.node.version &- 1)
  }

  /// Marks the last children as outdated in the value, so that the next rebuild writes them: a set may contain several
  /// versions of one entity.
  @usableFromInline mutating func markOutdated(last count: Int) {
    for index in versions.indices.suffix(count) { versions[index] &-= 1 }
  }

  /// The node of an entity that keeps its stored value; `nil` if the collected value has to be compared or stored.
  private func nodeThatKeepsValue<T: Identifiable & Sendable>(
    of entity: T, in table: EntityTable<T>
  ) -> EntityNode<T>? {
    if mode == .lookingUp { return table.nodeOrPlaceholder(for: entity) }
    guard let node = table.knownNode(entity.id) else {
      return retainedNode(of: entity, in: table)
    }
    return mode == .keepingExisting || unchanged.contains(where: { $0 === node }) ? node : nil
  }

  /// The node of a removed entity whose last value stays in the aggregate. An update that changes the value stores the
  /// entity again.
  private func retainedNode<T: Identifiable & Sendable>(of entity: T, in table: EntityTable<T>) -> EntityNode<T>? {
    guard !retainedRemoved.isEmpty, let node = table.anyNode(entity.id),
      node.isRemoved, retainedRemoved.contains(where: { $0 === node })
    else { return nil }
    return mode != .updating || areIdentical(node.value, entity) ? node : nil
  }

  // MARK: Updates

  /// The node of an entity whose collected value is the value that a closure received. The node keeps its stored value,
  /// its stamp, and its tentative changes.
  private func nodeUnchangedByClosure<T: Identifiable & Sendable>(
    _ entity: T, in table: EntityTable<T>
  ) -> EntityNode<T>? {
    guard let node = table.knownNode(entity.id) else { return nil }
    guard !node.flags.contains(.beingStored), !node.isTentative else { return nil }
    if let given = core.edits?.given, given.contains(node) { return given.contains(entity, of: node) ? node : nil }
    let given = core.edits?.formerValue(of: node) ?? table.givenValue(of: node)
    if areIdentical(given, entity, core.edits?.differences) { return node }
    return table.traits.isAggregate && core.edits?.hasReceived(entity, of: node) == true ? node : nil
  }

  /// Records a change that a closure made. If the closure changed two occurrences of one entity in different ways, the
  /// later change counts, and the log reports the conflict.
  private func noteEdit<T: Identifiable & Sendable>(_ entity: T, in table: EntityTable<T>) {
    guard let node = table.knownNode(entity.id),
      !node.flags.contains(.beingStored),
      let edits = core.edits
    else { return }
    guard edits.note(node, formerValue: table.givenValue(of: node)) else { return }
    // In an added aggregate, the policy merges equal changes with the stored value, which differs from them then.
    guard mode == .updating || table.policy.merge == nil else { return }
    if !areIdentical(node.upToDateValue(), entity) {
      core.reportRejected(T.self, entity.id, EntityError.differentChanges)
    }
  }

  /// Links the aggregate to its children.
  /// - Returns: Whether children have other values than the aggregate: they kept newer values, or an entity occurs
  ///   twice with different values.
  func link(_ aggregate: Node) -> Bool {
    aggregate.setChildren(children)
    guard let relations = aggregate.relations else { return false }
    var differs = false
    for index in children.indices {
      relations.children[index].writtenVersion = versions[index]
      if !relations.children[index].closesCycle, versions[index] != children[index].version { differs = true }
    }
    return differs
  }
}
