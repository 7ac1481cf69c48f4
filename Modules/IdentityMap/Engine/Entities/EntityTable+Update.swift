/// Updates by closures. The result of a closure is stored like any value, except that the ``ChildCollector`` does not
/// write nested entities that the closure left unchanged; see ``UpdateEdits``.
extension EntityTable {
  /// Changes an entity by a closure, which may use the store. A change in the closure's value counts; a nested entity
  /// that the value leaves unchanged keeps the state that the closure gave it in the store.
  /// - Returns: Whether the result of the closure was stored, even if it equals the stored value.
  @usableFromInline func update<E: Error>(
    _ node: EntityNode<T>, stamp: Stamp?, _ update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    if let error = rejection(of: stamp, by: node) {
      core.reportRejected(T.self, node.value.id, error)
      return false
    }
    // The closure receives the current entities of a cycle that has ended.
    renewCycleLinks(of: node)
    var value = updateBase(of: node)
    // Shares its buffers with the stored value, so that the closure copies no more than it would anyway.
    let given: T? = traits.isAggregate ? value : nil
    let version = node.version
    try update(&value)
    guard value.id == node.value.id else {
      core.reportRejected(T.self, node.value.id, EntityError.identifierChanged)
      return false
    }
    // The closure may have removed or stored the entity.
    guard !node.isAbsent, rejection(of: stamp, by: node) == nil else { return false }
    if node.isTentative {
      updateTentative(node, from: given, to: value, stamp: stamp)
    } else {
      let edits = UpdateEdits(
        given: given.flatMap { entities(in: $0, of: node, since: version) },
        received: given.map { given in { GivenEntities(in: given, of: node, self) } })
      core.withEdits(edits) { _ = replace(node, with: value, stamp: stamp, mode: .updating) }
    }
    return true
  }

  /// The entities of the value that a closure received; `nil` when the store has the same values of them. The store may
  /// have other values if the closure has used the store, or has received confirmed values below visible tentative
  /// values.
  private func entities(in given: T, of node: EntityNode<T>, since version: UInt32) -> GivenEntities? {
    node.isUnchanged(since: version) ? nil : GivenEntities(in: given, of: node, self)
  }

  /// The value of a nested entity in the value that a closure receives.
  func givenValue(of node: EntityNode<T>) -> T { confirmedValue(of: node) ?? node.upToDateValue() }

  /// Determines again which entities in the value close a cycle: a link that closed a cycle may close none any more.
  /// Then the value, and each aggregate with it, gets the current value of the entity.
  func renewCycleLinks(of node: EntityNode<T>) {
    guard let relations = node.relations, relations.cycleLinks > 0 else { return }
    core.bringUpToDate(node)
    let (before, count) = (node.value, relations.cycleLinks)
    defer { withExtendedLifetime(before) {} }
    node.relink(to: relations.children.map(\.child))
    // Aggregates of a node that stays dirty would miss the next change below the node.
    core.bringUpToDate(node)
    guard relations.cycleLinks < count else { return }
    if areEqual(before, node.value, of: node) { return core.propagateSilently(from: node) }
    // Readers and observers of the entity itself have received the current values before.
    node.advanceVersionSilently()
    core.propagate(over: relations.parents)
  }

  /// The value that an update changes: the confirmed value with confirmed nested entities, because tentative changes
  /// lie on top of it.
  private func updateBase(of node: EntityNode<T>) -> T {
    guard let confirmed = confirmedValue(of: node) else { return UpdateBases().base(of: node, self) }
    guard !core.optimistic.openChanges.isEmpty, core.hasTentativeChanges(in: contents(of: confirmed)) else {
      return confirmed
    }
    return core.withConfirmedValues { node.upToDateValue() }
  }
}

extension Node {
  /// Whether the stored values are known to be the values that a closure received at a version. A set may have had
  /// the former value of a member.
  func isUnchanged(since version: UInt32) -> Bool {
    self.version == version && !flags.contains(.dirty) && core.optimistic.openChanges.isEmpty
      && !core.graph.keepsMembers
  }
}
