/// Shared reads. They change no state and run only while no thread has the lock, so that they see the state between
/// two transactions. A read with an effect on the state takes the lock: it rebuilds a dirty value, makes the first
/// handle of an entity, or moves an entity in the order of eviction.
extension StoreCore {
  /// Begins a shared read.
  /// - Returns: `nil` when the read needs the lock.
  @usableFromInline func beginReading() -> ReaderSlot? { lock.beginReading() }

  /// Ends a shared read.
  @usableFromInline func endReading(_ slot: ReaderSlot) { slot.leave() }

  /// Counts a read that took the lock although a shared read could have done it. After many such reads the lock admits
  /// shared reads again; see ``BiasedLock``. Without contention, the count has no effect, and fast paths omit the call.
  ///
  /// A read for an observer counts only if the node has a handle, because making the first handle needs the lock.
  @usableFromInline func noteRead(of node: Unmanaged<Node>) {
    guard lock.isContended, lock.depth == 1 else { return }
    node._withUnsafeGuaranteedRef { node in
      if node.handle != nil, node.isReadable { lock.noteRead() }
    }
  }

  /// Counts a read of a value alone, which needs no handle; see ``noteRead(of:)``.
  @usableFromInline func noteValueRead(of node: Unmanaged<Node>) {
    guard lock.isContended, lock.depth == 1 else { return }
    node._withUnsafeGuaranteedRef { if $0.isReadable { lock.noteRead() } }
  }
}
