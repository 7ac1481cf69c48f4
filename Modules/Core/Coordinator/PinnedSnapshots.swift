/// The contexts of a coordinator with pinned snapshots. The detachment and the erasure of a store must not wait for
/// their open transactions.
final class PinnedSnapshots: Sendable {
  private struct Entry {
    let context: ObjectIdentifier
    /// Releases the context's reader of a store: at once where the calling thread may use the context, otherwise on the
    /// context's own queue.
    let release: @Sendable (any PersistentStore) -> Void
  }

  private let entries = Locked<[Entry]>([])

  /// Adds a context, once. A context is removed before its deinitialisation ends.
  func add(_ context: AnyObject, release: @escaping @Sendable (any PersistentStore) -> Void) {
    let entry = Entry(context: ObjectIdentifier(context), release: release)
    entries.withLock { entries in
      entries.removeAll { $0.context == entry.context }
      entries.append(entry)
    }
  }

  func remove(_ context: AnyObject) {
    let context = ObjectIdentifier(context)
    entries.withLock { $0.removeAll { $0.context == context } }
  }

  /// The number of contexts. For tests.
  var count: Int { entries.withLock { $0.count } }

  /// Releases the readers of a store.
  func release(_ store: any PersistentStore) { for entry in entries.withLock({ $0 }) { entry.release(store) } }
}
