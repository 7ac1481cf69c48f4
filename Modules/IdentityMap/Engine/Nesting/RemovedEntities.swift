/// The nested entities that a closure removed from the store and left unchanged in its value: they are removed from the
/// value too. An entity that the closure changed in its value is stored again.
final class RemovedEntities: EntityVisitor {
  private let given: GivenEntities
  /// The removed entities with an occurrence that the closure left unchanged.
  private var unchanged: [Node] = []
  /// The removed entities with an occurrence that the closure changed.
  private var changed: Set<ObjectIdentifier> = []

  init(_ given: GivenEntities) {
    self.given = given
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    guard let node = table.anyNode(entity.id), node.isRemoved,
      given.contains(node)
    else { return table.temporaryNode(entity) }
    if given.contains(entity, of: node) { unchanged.append(node) } else { changed.insert(ObjectIdentifier(node)) }
    return node
  }

  /// Removes the entities from a value.
  /// - Parameters:
  ///   - nodes: The nodes that the visit of the value returned.
  ///   - gather: Returns the nodes of the entities in a value. A key path may keep removed entities.
  ///   - remove: Removes a node's entity from a value; returns whether the value requires the entity.
  /// - Returns: `nil` when the value requires the entities.
  func reducedValue<Value>(
    of value: Value, with nodes: [Node], gather: (Value) -> [Node], remove: (inout Value, inout LinkCursor) -> Bool
  ) -> Value? {
    var (reduced, remaining) = (value, nodes)
    for node in unchanged where !changed.contains(ObjectIdentifier(node)) {
      let isRequired = LinkCursor.walk(over: remaining, removing: node) { remove(&reduced, &$0) }
      if isRequired { return nil }
      remaining = gather(reduced)
    }
    return reduced
  }
}

extension EntityTable {
  /// Returns the result of a closure without the entities that the closure removed from the store and left unchanged
  /// in its value. An aggregate that requires them keeps them.
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
  /// Returns the content of an alias without the entities that the closure removed from the store and left unchanged in
  /// the content.
  ///
  /// - Returns: `nil` when the content requires the entities.
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
