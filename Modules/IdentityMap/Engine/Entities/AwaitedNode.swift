/// An identifier that somebody watches, whether there is an entity of it or not.
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
    core.refresh(self)
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

  override var label: String { "whoever awaits \(T.self) \(id)" }
}

extension StoreCore {
  /// The node that follows an identifier, made when there is none. The caller keeps it.
  func awaited<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> AwaitedNode<T> {
    let table = table(of: type)
    if let node = table.awaited[id] { return node }
    let node = AwaitedNode<T>(id, core: self)
    table.awaited[id] = node
    node.entity = table.search(id)
    return node
  }
}
