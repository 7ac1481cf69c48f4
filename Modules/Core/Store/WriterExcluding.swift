/// A store that can exclude other writers while a caller reads and then saves changes based on the reading.
///
/// Core uses the exclusion for a save that met conflicts with other writers several times: the next attempt runs while
/// no other writer can save, and succeeds. For a store without the refinement, Core retries among the other writers,
/// and finally throws a retryable error.
public protocol WriterExcluding: PersistentStore {
  /// Runs a block while no other thread and no other process can change records of the store. Other writers wait;
  /// readers continue.
  ///
  /// Readers that the block makes see the latest committed state. The first save of the calling thread that succeeds is
  /// committed, and ends the exclusion. A refused save changes nothing and does not end the exclusion. Calls may be
  /// nested.
  ///
  /// The block must not wait for another thread: that thread may be waiting to save.
  ///
  /// - Throws: The block's error; ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``; errors of the exclusion, in
  ///   which case the block does not run.
  func excludingWriters<T>(_ body: () throws -> T) throws -> T

  /// Runs a block as ``excludingWriters(_:)`` does, and gives up when other writers take too long. The cancellation of
  /// the task ends the wait for writers of this process.
  ///
  /// By default the call waits as long as ``excludingWriters(_:)`` does.
  ///
  /// - Parameter timeout: The longest wait for other writers; `nil` for no limit but the store's own.
  /// - Throws: Also ``ErrorCode/storeBusy`` with ``CoherenceError/isRetryable`` set after the timeout, and
  ///   ``ErrorCode/cancelled``. The block does not run then.
  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T
}

extension WriterExcluding {
  public func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    try excludingWriters(body)
  }
}
