/// Finds the nested entities that the closure of an update removed from the store and left unchanged in its value, and
/// removes them from the value, so that the update does not store them again. A removed entity that the closure changed
/// in its value stays, and is stored again.
final class RemovedEntities: EntityVisitor {
  /// The entities that the closure received.
  private let given: GivenEntities
  /// The removed entities by the occurrences that the closure left unchanged.
  private var unchanged: [Node] = []
  /// The removed entities with an occurrence that the closure changed.
  private var changed: Set<ObjectIdentifier> = []

  init(_ given: GivenEntities) {
    self.given = given
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    guard let node = table.anyNode(entity.id), node.isRemoved, given.contains(node) else {
      return table.temporaryNode(entity)
    }
    if given.contains(entity, of: node) { unchanged.append(node) } else { changed.insert(ObjectIdentifier(node)) }
    return node
  }

  /// Removes the entities from a value. Called after the visit of the value.
  ///
  /// - Parameters:
  ///   - nodes: The nodes that the visit of the value returned.
  ///   - gather: Returns the nodes of the entities in a value. A key path may keep removed entities.
  ///   - remove: Removes the cursor's removed entities from a value; returns whether the value requires one of them.
  /// - Returns: `nil` when the value requires one of the entities.
  func reducedValue<Value>(
    of value: Value, with nodes: [Node], gather: (Value) -> [Node], remove: (inout Value, inout LinkCursor) -> Bool
  ) -> Value? {
    let removed = unchanged.filter { !changed.contains(ObjectIdentifier($0)) }
    if removed.count > 1, let reduced = reducedAtOnce(value, with: nodes, by: removed, gather, remove) {
      return reduced
    }
    var (reduced, remaining) = (value, nodes)
    for node in removed {
      let isRequired = LinkCursor.walk(over: remaining, removing: node) { remove(&reduced, &$0) }
      if isRequired { return nil }
      remaining = gather(reduced)
    }
    return reduced
  }

  /// Removes several entities from a value with one walk. A walk for each would cost the square of their number.
  ///
  /// - Returns: `nil` unless the result is exactly the value without the entities. Not so if the value requires one of
  ///   them, if a key path keeps one, and if a wrapper is removed with all of its entities.
  private func reducedAtOnce<Value>(
    _ value: Value, with nodes: [Node], by removed: [Node], _ gather: (Value) -> [Node],
    _ remove: (inout Value, inout LinkCursor) -> Bool
  ) -> Value? {
    let identities = Set(removed.map { ObjectIdentifier($0) })
    var reduced = value
    let isRequired = LinkCursor.walk(over: nodes, removingAll: identities) { remove(&reduced, &$0) }
    guard !isRequired else { return nil }
    let remaining = gather(reduced)
    let isExact =
      remaining.count == nodes.count { !identities.contains(ObjectIdentifier($0)) }
      && !remaining.contains { identities.contains(ObjectIdentifier($0)) }
    return isExact ? reduced : nil
  }
}

extension EntityTable {
  /// Returns the aggregate that the closure of an update made, without the entities that the closure removed from the
  /// store and left unchanged in the aggregate. An aggregate that requires one of them keeps all, and so does an
  /// aggregate whose identifier the removal would change.
  func withoutRemoved(_ entity: T) -> T {
    guard let given = core.edits?.given, given.hasRemoved, let plan = plan(for: entity) else { return entity }
    let removed = RemovedEntities(given)
    let nodes = visit(entity, removed)
    let reduced = removed.reducedValue(of: entity, with: nodes, gather: contents) { plan.remove(from: &$0, along: &$1) }
    guard let reduced, reduced.id == entity.id else { return entity }
    return reduced
  }
}

extension NestedShape {
  /// Returns the content that the closure of an update made for an alias, without the entities that the closure removed
  /// from the store and left unchanged in the content.
  ///
  /// - Parameter given: The entities that the closure received.
  /// - Returns: `nil` when the content requires one of the entities.
  func withoutRemoved(_ content: Part, given: GivenEntities, _ core: StoreCore) -> Part? {
    guard given.hasRemoved else { return content }
    let removed = RemovedEntities(given)
    var collector = ChildCollector(core: core, stamp: nil, visitor: removed)
    collect(content, &collector)
    func gather(_ content: Part) -> [Node] {
      var lookingUp = ChildCollector(core: core, stamp: nil, mode: .lookingUp)
      collect(content, &lookingUp)
      return lookingUp.children
    }
    return removed.reducedValue(of: content, with: collector.children, gather: gather) { remove(&$0, &$1) }
  }
}
