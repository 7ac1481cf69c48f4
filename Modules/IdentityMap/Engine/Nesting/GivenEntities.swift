/// The entities in a value that a closure is given, and those in them.
///
/// Where an entity closes a circle, the closure sees it as old as it was stored: such a place says nothing.
final class GivenEntities: EntityVisitor {
  /// By node. All places have one value, unless one of them closes a circle elsewhere.
  private var values: [ObjectIdentifier: [Any]] = [:]
  private var path: Set<ObjectIdentifier>
  private let differences = KnownDifferences()
  /// Whether one of the entities has been removed from the store since.
  private(set) var hasRemoved = false

  /// - Parameter value: What the closure is given of an entity.
  init<T: Identifiable & Sendable>(in value: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    path = [ObjectIdentifier(node)]
    table.visit(value, self)
  }

  /// - Parameter content: What the closure is given of an alias.
  init<Content>(in content: Content, _ shape: NestedShape<Content>, _ core: StoreCore) {
    path = []
    var collector = ChildCollector(core: core, stamp: nil, visitor: self)
    shape.collect(content, &collector)
  }

  /// Whether the closure was given an entity at any place.
  func contains<T>(_ node: EntityNode<T>) -> Bool { values[ObjectIdentifier(node)] != nil }

  /// Whether the closure was given an entity with this value.
  func contains<T>(_ entity: T, of node: EntityNode<T>) -> Bool {
    values[ObjectIdentifier(node)]?.contains { given in
      (given as? T).map { areIdentical($0, entity, differences) } ?? false
    } ?? false
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    // Present or removed since.
    guard let node = table.anyNode(entity.id) else {
      return EntityNode(entity, core: table.core)
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
