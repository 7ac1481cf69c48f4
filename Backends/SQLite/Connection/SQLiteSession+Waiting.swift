import Foundation

extension SQLiteSession {
  /// Runs a statement that takes the right to write in the middle of its work, and repeats it while another connection
  /// has this right, up to the connection's time for waits.
  ///
  /// SQLite waits for the right to write only where a transaction begins. A transaction that has read fails at once,
  /// because two such transactions would wait for each other.
  func repeatingWhileLocked<T>(_ body: () throws -> T) throws -> T {
    let deadline = ContinuousClock.now + busyWait.limit
    while true {
      do {
        return try body()
      } catch let failure as SQLiteFailure where failure.isOfLock && ContinuousClock.now < deadline && !Task.isCancelled
      {
        // A random time, so that two processes do not meet again and again.
        Thread.sleep(forTimeInterval: .random(in: 0.001...0.01))
      }
    }
  }

  /// Runs a block whose statements wait for other processes up to a time.
  ///
  /// - Parameter timeout: The longest wait, in place of the connection's; `nil` for the connection's.
  func waitingForOthers<T>(atMost timeout: Duration?, _ body: () throws -> T) rethrows -> T {
    guard let timeout else { return try body() }
    let usual = busyWait.limit
    busyWait.limit = max(timeout, .zero)
    defer { busyWait.limit = usual }
    return try body()
  }

  /// Runs a block whose statements wait for other processes in a cancelled task too.
  func uninterrupted<T>(_ body: () throws -> T) rethrows -> T {
    let usual = busyWait.endsByCancellation
    busyWait.endsByCancellation = false
    defer { busyWait.endsByCancellation = usual }
    return try body()
  }
}
