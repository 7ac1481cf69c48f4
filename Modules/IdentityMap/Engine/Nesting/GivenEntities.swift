/// The values of the nested entities, at all levels, that a closure received.
///
/// An entity that closes a cycle has the value that it was stored with, which says nothing about a change.
final class GivenEntities: EntityVisitor {
  /// By node. An entity has one value everywhere, unless one occurrence closes a cycle.
  private var values: [ObjectIdentifier: [Any]] = [:]
  /// The nodes whose values are being visited: each contains the next. An entity of one of them closes a cycle.
  private var path: Set<ObjectIdentifier>
  private let differences = KnownDifferences()
  /// Whether one of the entities has been removed from the store since.
  private(set) var hasRemoved = false

  /// - Parameter value: The value that the closure receives of an entity.
  init<T: Identifiable & Sendable>(in value: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    path = [ObjectIdentifier(node)]
    table.visit(value, self)
  }

  /// - Parameter content: The content that the closure receives of an alias.
  init<Content>(in content: Content, _ shape: NestedShape<Content>, _ core: StoreCore) {
    path = []
    var collector = ChildCollector(core: core, stamp: nil, visitor: self)
    shape.collect(content, &collector)
  }

  /// Whether the closure received an entity.
  func contains<T>(_ node: EntityNode<T>) -> Bool { values[ObjectIdentifier(node)] != nil }

  /// Whether the closure received an entity with this value.
  func contains<T>(_ entity: T, of node: EntityNode<T>) -> Bool {
    values[ObjectIdentifier(node)]?.contains { given in
      (given as? T).map { areIdentical($0, entity, differences) } ?? false
    } ?? false
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    // Present or removed since.
    guard let node = table.anyNode(entity.id) else {
      return table.temporaryNode(entity)
    }
    if node.isRemoved { hasRemoved = true }
    guard !path.contains(ObjectIdentifier(node)), !contains(entity, of: node) else { return node }
    values[ObjectIdentifier(node), default: []].append(entity)
    path.insert(ObjectIdentifier(node))
    table.visit(entity, self)
    path.remove(ObjectIdentifier(node))
    return node
  }
}
