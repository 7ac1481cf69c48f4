import CLibPQ
import CoherenceCore
import Foundation

// The limits of waiting for a response, and the cancellation of a statement.

extension PostgreSQLConnection {
  // MARK: Silence

  /// Checks whether to continue waiting for a silent server, and throws if not.
  func checkSilence() throws {
    let now = ContinuousClock.now
    let since = silence ?? now
    silence = since
    if isInterruptible, let cancellation, now - cancellation > Self.cancellationTimeout {
      closeLink()
      throw CoherenceError(
        .cancelled, "The task was cancelled, and the PostgreSQL server did not react; the connection was closed.")
    }
    if let deadline {
      if now >= deadline { throw closeSilentLink() }
    } else if now - since > options.silenceTimeout {
      let probe = PostgreSQLProbe(options, logger: logger)
      let isWorking = probe.isWorking(process, on: host) { isReadable(within: 0) }
      if !isWorking, !isReadable(within: 0) { throw closeSilentLink() }
      silence = nil
    }
  }

  /// The time limit for the end of a cancelled statement.
  private static let cancellationTimeout = Duration.seconds(3)

  private func closeSilentLink() -> CoherenceError {
    closeLink()
    return CoherenceError(
      .connectionLost,
      "The PostgreSQL server no longer responds, so the connection was closed; check the network, and try again.",
      isRetryable: true)
  }

  /// Closes the link without a message to the server. The connection is not used again. Another connection ends the
  /// server's process, which would keep its transaction and its locks.
  func closeLink() {
    isClosed = true
    shutdown(PQsocket(raw), Int32(SHUT_RDWR))
    guard !isWitness, let process, PQtransactionStatus(raw) != PQTRANS_IDLE else { return }
    PostgreSQLProbe(options, logger: logger).endLater(process, on: host)
  }

  /// Runs a block with a time limit, even against a busy server. A cancelled task does not interrupt it.
  func within<T>(_ duration: Duration, _ body: () throws -> T) rethrows -> T {
    let outer = deadline
    deadline = min(outer ?? .now + duration, .now + duration)
    defer { deadline = outer }
    return try uninterrupted(body)
  }

  // MARK: Cancelling

  /// Asks the server to cancel the running statement. The statement fails unless it ended already.
  ///
  /// libpq connects to the server for a cancellation and waits, so another thread does it, and the caller waits for
  /// that thread with a time limit. The wait is necessary, because a late cancellation would hit the next statement.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when the server cannot be reached in time; the connection is closed then.
  func cancel() throws {
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
    closeLink()
    throw CoherenceError(
      .cancelled, "The task was cancelled, and the PostgreSQL server cannot be reached; the connection was closed.")
  }

  /// Runs a block that a cancelled task does not interrupt.
  func uninterrupted<T>(_ body: () throws -> T) rethrows -> T {
    isInterruptible = false
    defer { isInterruptible = true }
    return try body()
  }
}
