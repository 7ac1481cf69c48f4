import Dispatch

/// A thread that waits for a connection of a ``PostgreSQLPool``. Used under the pool's lock, except for the semaphore.
final class PostgreSQLPoolWaiter {
  let purpose: PostgreSQLPool.Purpose
  /// The start of the call, which determines the place in the line.
  let start: ContinuousClock.Instant
  /// The time from which a thread that waits beside the pool tries to open a connection again. Any other thread gets a
  /// permit to try.
  let nextAttempt: ContinuousClock.Instant
  let semaphore = DispatchSemaphore(value: 0)
  /// The permit that the thread gets, set before the semaphore is signalled.
  var permit: ConnectionPermits<PostgreSQLConnection>.Permit?

  init(
    _ purpose: PostgreSQLPool.Purpose, since start: ContinuousClock.Instant,
    triesAgainAt nextAttempt: ContinuousClock.Instant
  ) {
    self.purpose = purpose
    self.start = start
    self.nextAttempt = nextAttempt
  }
}

extension [PostgreSQLPoolWaiter] {
  /// Inserts a waiting thread behind the threads whose calls began earlier. A thread whose permit led to no connection
  /// thereby returns to its place.
  mutating func insert(_ waiter: PostgreSQLPoolWaiter) {
    let index = lastIndex { $0.start <= waiter.start }.map { $0 + 1 } ?? startIndex
    insert(waiter, at: index)
  }
}
