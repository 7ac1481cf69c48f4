/// The node of an observed identifier, which may or may not have an entity.
final class ObservedIdentifierNode<T: Identifiable & Sendable>: ValueNode<T?> {
  private let id: T.ID

  init(_ id: T.ID, core: StoreCore) {
    self.id = id
    super.init(core: core)
  }

  /// The entity of the identifier, if it exists.
  var entity: EntityNode<T>? {
    didSet {
      guard entity !== oldValue else { return }
      setChildren(entity.map { [$0] } ?? [])
      didChange()
    }
  }

  override func read() -> T? {
    core.bringUpToDate(self)
    return entity?.read()
  }

  override var isReadable: Bool { !flags.contains(.dirty) && core.graph.cycleLinks == 0 }

  override func remove(_ child: Node) -> Bool {
    entity = nil
    return false
  }

  override func removeFromTable() {
    core.table(of: T.self).observedIdentifiers[id] = nil
  }

  override var label: String { "observed identifier \(T.self) \(id)" }
}

extension StoreCore {
  /// Returns the node of an observed identifier, and makes it if necessary. The caller retains the node.
  func observedIdentifier<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> ObservedIdentifierNode<T> {
    let table = table(of: type)
    if let node = table.observedIdentifiers[id] { return node }
    let node = ObservedIdentifierNode<T>(id, core: self)
    table.observedIdentifiers[id] = node
    node.entity = table.search(id)
    return node
  }
}
