/// The node of a snapshot, whose parts are read within one operation.
final class SnapshotNode<Value: Sendable>: SelfRetainingNode<Value> {
  private let readParts: () -> Value

  private init(core: StoreCore, readParts: @escaping () -> Value) {
    self.readParts = readParts
    super.init(core: core)
  }

  override func read() -> Value {
    // A dirty node gets no new version from the next change of a part, so that its observers would not be due.
    core.bringUpToDate(self)
    return readParts()
  }

  /// A delivery inside of a transaction would show a part of the transaction.
  override var notifiesBetweenTransactions: Bool { true }

  /// A snapshot is delivered after its parts.
  override var notificationOrder: Int32 { .max }

  override var label: String { "snapshot of \(Value.self)" }

  /// Makes the node of a snapshot.
  /// - Parameter readParts: Reads the parts, which the snapshot retains.
  static func make(of parts: [Node], core: StoreCore, readParts: @escaping () -> Value) -> SnapshotNode {
    let node = SnapshotNode(core: core, readParts: readParts)
    node.retainUntilEviction(with: parts)
    return node
  }
}
