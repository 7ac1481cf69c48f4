/// Is shown the entities in a value, in the order of their places.
protocol EntityVisitor: AnyObject {
  /// - Returns: A node with the value that a walk which writes puts to the place.
  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T>
}

extension EntityTable {
  /// Shows a visitor the entities in a value, but not those in them.
  /// - Returns: The nodes that the visitor returned.
  @discardableResult
  func visit(_ value: T, _ visitor: any EntityVisitor) -> [Node] {
    guard let plan = plan(for: value) else { return [] }
    var collector = ChildCollector(core: core, stamp: nil, visitor: visitor)
    plan.collect(value, into: &collector)
    return collector.children
  }

  /// Writes what a visitor returns for the entities in a value to their places.
  func rewrite(_ value: inout T, _ visitor: any EntityVisitor) {
    guard let plan = plan(for: value) else { return }
    let nodes = visit(value, visitor)
    // Nothing else keeps them.
    withExtendedLifetime(nodes) {
      LinkCursor.walk(over: nodes) { plan.refresh(&value, along: &$0) }
    }
  }
}
