/// Reads beside other reads. They change nothing in the store, and they go on only while nobody has its lock: so they see
/// the state between two transactions. What has to be changed for a read, as a value that is out of date, an entity that
/// nothing keeps from outside yet, or the order of entities by their use, takes the lock.
extension StoreCore {
  /// - Returns: `nil` when the read needs the lock.
  @usableFromInline func beginReading() -> ReaderSlot? { lock.beginReading() }

  @usableFromInline func endReading(_ slot: ReaderSlot) { slot.leave() }

  /// Under the lock: a read of a node, which could have gone without it, or not.
  @usableFromInline func noteRead(of node: Unmanaged<Node>) {
    guard lock.isContended, lock.depth == 1 else { return }
    node._withUnsafeGuaranteedRef { node in
      if node.handle != nil, node.isReadable { lock.noteRead() }
    }
  }
}
