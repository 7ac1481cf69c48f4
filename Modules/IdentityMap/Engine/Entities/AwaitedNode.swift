/// The node of an observed identifier, which may or may not have an entity.
final class AwaitedNode<T: Identifiable & Sendable>: ValueNode<T?> {
  private let id: T.ID

  init(_ id: T.ID, core: StoreCore) {
    self.id = id
    super.init(core: core)
  }

  /// The entity of the identifier.
  var entity: EntityNode<T>? {
    didSet {
      guard entity !== oldValue else { return }
      setChildren(entity.map { [$0] } ?? [])
      advanceVersion()
      core.propagate(from: self)
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
    core.table(of: T.self).awaited[id] = nil
  }

  override var label: String { "observed identifier \(T.self) \(id)" }
}

extension StoreCore {
  /// Returns the node of an observed identifier, and makes it if necessary. The caller keeps it.
  func awaited<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> AwaitedNode<T> {
    let table = table(of: type)
    if let node = table.awaited[id] { return node }
    let node = AwaitedNode<T>(id, core: self)
    table.awaited[id] = node
    node.entity = table.search(id)
    return node
  }
}
