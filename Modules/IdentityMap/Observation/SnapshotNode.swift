/// A node that reads several nodes within one operation.
final class SnapshotNode<Value: Sendable>: ValueNode<Value> {
  private let readParts: () -> Value

  private init(core: StoreCore, readParts: @escaping () -> Value) {
    self.readParts = readParts
    super.init(core: core)
  }

  override func read() -> Value {
    core.bringUpToDate(self)
    return readParts()
  }

  override var notifiesBetweenTransactions: Bool { true }

  /// A snapshot is delivered after its parts.
  override var notificationOrder: Int32 { .max }

  override func removeFromTable() {
    Unmanaged.passUnretained(self).release()
  }

  override var label: String { "snapshot of \(Value.self)" }

  /// Makes a node that retains itself until the store removes it, after the release of its last handle.
  /// - Parameter readParts: Reads the parts, which the snapshot keeps.
  static func make(of parts: [Node], core: StoreCore, readParts: @escaping () -> Value) -> SnapshotNode {
    let node = SnapshotNode(core: core, readParts: readParts)
    _ = Unmanaged.passRetained(node)
    node.setChildren(parts)
    core.pending.addReleaseCandidate(node)
    return node
  }
}
