/// Deeply nested aggregates. Comparing such a value visits each level, and comparing the values at every level takes
/// the square of the depth. So each value is compared after its nested entities, as a shallow value.
extension EntityTable {
  /// Replaces the value of a deep aggregate.
  /// - Parameter mode: The treatment of nested entities; `.updating` if the value was made from the stored one.
  func replaceDeep(
    _ node: EntityNode<T>, with entity: T, stamp: Stamp?, mode: ChildCollector.Mode
  ) -> StoreResult<T> {
    let isUpdate = mode == .updating
    let before = node.upToDateValue()
    // Released with the operation: releasing the value here would recurse through all levels below.
    defer { core.releaseLater(before) }
    let isRepeated = isRepetition(entity, of: node) && areEqual(before, entity, of: node)
    // As in `replace`, a repeated value is stored only if its nested entities may have to take the stamp, or to become
    // confirmed or present. The condition on removed entities is that of the whole store, because a search for their
    // last values at every level would take the square of the depth.
    if isRepeated, stamp == nil, core.optimistic.openChanges.isEmpty || isUpdate, isUpdate || !core.graph.keepsRemoved {
      return noteRepeatedWrite(node, stamp: nil)
    }
    let children = node.relations?.children.map(\.child) ?? []
    let isReported = setAggregate(node, to: entity, stamp: stamp, mode: mode)
    excludeTentativelyRemoved(from: node)
    // Nested entities that kept newer values can make the value equal to the former one.
    let isAdjusted = node.flags.contains(.dirty)
    let isEqual = isRepeated || !isReported && isEqual(node, to: before, of: children)
    return finishReplacement(
      of: node, stamp: stamp, isEqual: isEqual, isRepeated: isRepeated, isAdjusted: isAdjusted)
  }

  /// Whether a node is equal to its former value, given that nested entities are equal to their former values: the
  /// nested values are replaced by the current ones, which share memory, so that the comparison is shallow.
  private func isEqual(_ node: EntityNode<T>, to former: T, of children: [Node]) -> Bool {
    let current = node.upToDateValue()
    var former = former
    if let relations = node.relations, relations.children.map(\.child).elementsEqual(children, by: ===),
      let plan = node.plan
    {
      LinkCursor.walk(over: children) { plan.writeChildren(&former, along: &$0) }
    }
    return areEqual(former, current, of: node)
  }

  /// Whether the policy or the type finds two values of a node equal, so that observers are not notified. One of them
  /// is the node's own.
  func areEqual(_ first: T, _ second: T, of node: EntityNode<T>) -> Bool {
    StackSpace.forValue(ofHeight: node.relations?.height ?? 0) { areEqual(first, second) }
  }
}

extension EntityNode {
  /// Whether entities are nested deep in the value. Values with cycles are compared directly at every depth.
  var isDeep: Bool {
    guard let relations else { return false }
    return relations.height > 64 && relations.cycleLinks == 0
  }
}
