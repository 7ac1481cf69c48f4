/// The contexts and streams of a coordinator with readers that outlive units of work: the readers of pinned snapshots and
/// of streams. The detachment and the erasure of a store must not wait for their open transactions.
final class LastingReaders: Sendable {
  private struct Entry {
    let owner: ObjectIdentifier
    /// Releases the owner's reader of a store: at once where the calling thread may use the owner's context, otherwise on
    /// that context's queue.
    let release: @Sendable (any PersistentStore) -> Void
  }

  private let entries = Locked<[Entry]>([])

  /// Adds an owner of readers, once. An owner is removed before its deinitialisation ends.
  func add(_ owner: AnyObject, release: @escaping @Sendable (any PersistentStore) -> Void) {
    let entry = Entry(owner: ObjectIdentifier(owner), release: release)
    entries.withLock { entries in
      entries.removeAll { $0.owner == entry.owner }
      entries.append(entry)
    }
  }

  func remove(_ owner: AnyObject) {
    let owner = ObjectIdentifier(owner)
    entries.withLock { $0.removeAll { $0.owner == owner } }
  }

  /// The number of owners. For tests.
  var count: Int { entries.withLock { $0.count } }

  /// Releases the readers of a store.
  func release(_ store: any PersistentStore) { for entry in entries.withLock({ $0 }) { entry.release(store) } }
}
