/// A store with an operation to exclude other writers while a caller reads, and saves changes based on these reads.
///
/// Core uses the exclusion after several conflicts of a save with other writers: no other writer can save during the
/// next attempts, so that they succeed. For a store without the refinement, Core retries while other writers save, and
/// finally throws a retryable error.
public protocol WriterExcluding: PersistentStore {
  /// Runs a block while no other thread and no other process can change records of the store. Other writers wait;
  /// readers continue.
  ///
  /// Readers made in the block see the latest committed state. The first successful save of the calling thread commits
  /// and ends the exclusion. A refused save changes nothing and does not end the exclusion. Calls may be nested.
  ///
  /// The block must not wait for another thread: that thread may be waiting to save.
  ///
  /// - Throws: The block's error; ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``; errors of the exclusion, in
  ///   which case the block does not run.
  func excludingWriters<T>(_ body: () throws -> T) throws -> T

  /// Runs a block like ``excludingWriters(_:)``, with a limited wait for other writers. A cancellation of the task ends
  /// the wait for writers of this process.
  ///
  /// The default implementation ignores the timeout and waits like ``excludingWriters(_:)``.
  ///
  /// - Parameter timeout: The longest wait for other writers; `nil` for no limit but the store's own.
  /// - Throws: Also ``ErrorCode/storeBusy`` with ``CoherenceError/isRetryable`` set after the timeout, and
  ///   ``ErrorCode/cancelled``. The block does not run then.
  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T
}

extension WriterExcluding {
  /// Runs a block like ``excludingWriters(_:)``, without regard to the timeout.
  public func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    try excludingWriters(body)
  }
}
