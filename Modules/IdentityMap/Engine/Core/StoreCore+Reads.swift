/// Shared reads. They change no state and run only while no thread has the lock, so that they see the state between
/// two transactions. A read with an effect on the state takes the lock: it rebuilds a dirty value, makes the first
/// handle of an entity, or moves an entity in the order of eviction.
extension StoreCore {
  /// Begins a shared read.
  /// - Returns: `nil` when the read needs the lock.
  @usableFromInline func beginReading() -> ReaderSlot? { lock.beginReading() }

  /// Ends a shared read.
  @usableFromInline func endReading(_ slot: ReaderSlot) { slot.leave() }

  /// Counts a read with the lock that a shared read could have done, so that reads become shared. Without contention,
  /// the count has no effect, and fast paths omit the call.
  @usableFromInline func noteRead(of node: Unmanaged<Node>) {
    guard lock.isContended, lock.depth == 1 else { return }
    node._withUnsafeGuaranteedRef { node in
      if node.handle != nil, node.isReadable { lock.noteRead() }
    }
  }

  /// Counts a read of a value, for which nothing has to retain the node.
  @usableFromInline func noteValueRead(of node: Unmanaged<Node>) {
    guard lock.isContended, lock.depth == 1 else { return }
    node._withUnsafeGuaranteedRef { if $0.isReadable { lock.noteRead() } }
  }
}
