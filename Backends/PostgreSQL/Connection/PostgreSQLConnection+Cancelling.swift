import CLibPQ
import CoherenceCore
import Foundation

extension PostgreSQLConnection {
  /// Asks the server to cancel the running statement. The statement fails unless it ended already.
  ///
  /// libpq connects to the server for a cancellation and waits, so another thread does it, and the caller waits for
  /// that thread with a time limit. The wait is necessary, because a late cancellation would hit the next statement.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when the server cannot be reached in time; the connection is closed then.
  func cancel() throws {
    // From now on, the wait for the end of the statement is limited, see `checkSilence`.
    cancellation = .now
    guard let request = PQgetCancel(raw) else { return }
    let end = DispatchSemaphore(value: 0)
    nonisolated(unsafe) let pointer = request  // Used by the thread only, which frees it.
    Thread.detachNewThread {
      var message = [CChar](repeating: 0, count: 256)
      PQcancel(pointer, &message, Int32(message.count))
      PQfreeCancel(pointer)
      end.signal()
    }
    guard end.wait(timeout: .now() + 3) == .timedOut else { return }
    closeSocket()
    throw CoherenceError(
      .cancelled, "The task was cancelled, and the PostgreSQL server cannot be reached; the connection was closed.")
  }

  /// Runs a block that a cancelled task does not interrupt.
  func uninterrupted<T>(_ body: () throws -> T) rethrows -> T {
    let former = isInterruptible
    isInterruptible = false
    defer { isInterruptible = former }
    return try body()
  }
}
