/// Visits the nested entities of a value, in their order.
protocol EntityVisitor: AnyObject {
  /// - Returns: The node of the entity. ``EntityTable/rewrite(_:_:)`` writes the node's value into the aggregate; other
  ///   walks leave the aggregate unchanged.
  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T>
}

extension EntityTable {
  /// Returns a node with a value, in no table. ``rewrite(_:_:)`` writes the value into the aggregate. For other walks,
  /// the node only takes the place of an entity without a node, or of an entity that does not concern the visitor.
  func temporaryNode(_ entity: T) -> EntityNode<T> { EntityNode(entity, core: core) }

  /// Visits the entities directly in a value.
  /// - Returns: The nodes that the visitor returned.
  @discardableResult
  func visit(_ value: T, _ visitor: any EntityVisitor) -> [Node] {
    guard let plan = plan(for: value) else { return [] }
    var collector = ChildCollector(core: core, stamp: nil, visitor: visitor)
    plan.collect(value, into: &collector)
    return collector.children
  }

  /// Writes the values that a visitor returns for the nested entities into a value.
  func rewrite(_ value: inout T, _ visitor: any EntityVisitor) {
    guard let plan = plan(for: value) else { return }
    let nodes = visit(value, visitor)
    // Only this function retains the nodes.
    withExtendedLifetime(nodes) {
      LinkCursor.walk(over: nodes) { plan.writeChildren(&value, along: &$0) }
    }
  }
}
