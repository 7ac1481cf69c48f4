/// A store that locks single records while a caller reads them and saves changes based on these reads.
///
/// Core uses it for ``ManagedObjectContext/withLock(on:timeout:_:)``. For a store without the refinement, Core keeps
/// all other writers out; see ``WriterExcluding``.
public protocol RowLocking: PersistentStore {
  /// Runs a block while no other thread and no other process can change or delete some records of the store.
  ///
  /// Writers of these records wait; readers, and writers of other records, continue. The locks are taken in one order
  /// for all callers: by hierarchy, then by ascending key. Readers that the block makes see the latest committed state.
  ///
  /// The first successful save of the calling thread is made in the transaction of the locks, and its commit ends the
  /// locks. A refused save changes nothing and keeps the locks. Calls may be nested, also within
  /// ``WriterExcluding/excludingWriters(_:)`` of the same store: the inner call adds its records, and all locks end
  /// together.
  ///
  /// The block must not wait for another thread: that thread may be waiting to save.
  ///
  /// - Parameters:
  ///   - ids: Permanent identifiers of records of the store, without duplicates.
  ///   - timeout: The longest wait for other writers; `nil` for no limit but the store's own. At zero, the call does
  ///     not wait.
  ///   - body: Receives the present rows of the locked records, in any order. Records that do not exist have no row.
  /// - Throws: The block's error; ``ErrorCode/storeBusy`` with ``CoherenceError/isRetryable`` set after the timeout and
  ///   after a deadlock, ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``, ``ErrorCode/cancelled``, and errors
  ///   of the store, in which case the block does not run. ``ErrorCode/connectionLost`` when the locks were lost before
  ///   the end of the block.
  func lockingRows<T>(_ ids: [ManagedObjectID], timeout: Duration?, _ body: ([Row]) throws -> T) throws -> T
}
