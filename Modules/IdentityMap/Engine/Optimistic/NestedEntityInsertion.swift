/// Stores the nested entities of a value as a part of a tentative change, unless the store has them.
final class NestedEntityInsertion: EntityVisitor {
  private let change: TentativeChange
  /// Removed entities whose last values the aggregate keeps: they stay removed.
  private let retainedRemoved: [Node]

  init(by change: TentativeChange, keepingRemoved retainedRemoved: [Node]) {
    self.change = change
    self.retainedRemoved = retainedRemoved
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    let node = table.anyNode(entity.id)
    if let node, node.isRemoved, retainedRemoved.contains(where: { $0 === node }) { return node }
    table.storeNestedTentatively(entity, change)
    return table.knownNode(entity.id) ?? table.temporaryNode(entity)
  }
}
