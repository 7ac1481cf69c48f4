import CLibPQ
import CoherenceCore
import Foundation

// How long a response is waited for, and how a statement is ended before its response.

extension PostgreSQLConnection {
  // MARK: Silence

  /// Looks whether it is still worth waiting for a server from which nothing came.
  func endure() throws {
    let now = ContinuousClock.now
    let since = silence ?? now
    silence = since
    if isInterruptible, let cancellation, now - cancellation > Self.cancellationPatience {
      closeLink()
      throw CoherenceError(
        .cancelled, "The task was cancelled, and the PostgreSQL server did not react; the connection was closed.")
    }
    if let deadline {
      if now >= deadline { throw giveUpLink() }
    } else if now - since > options.silencePatience {
      let probe = PostgreSQLProbe(options, logger: logger)
      let isWorking = probe.isWorking(process, on: host) { isReadable(within: 0) }
      if !isWorking, !isReadable(within: 0) { throw giveUpLink() }
      silence = nil
    }
  }

  /// How long a cancelled statement may take to end.
  private static let cancellationPatience = Duration.seconds(3)

  private func giveUpLink() -> CoherenceError {
    closeLink()
    return CoherenceError(
      .connectionLost,
      "Nothing comes from the PostgreSQL server any more, so the connection was closed; check the network, and try again.",
      isRetryable: true)
  }

  /// Closes the link without a word to the server. The connection is not used again. The server's process is ended, with
  /// the transaction and the locks that it would keep.
  func closeLink() {
    isClosed = true
    shutdown(PQsocket(raw), Int32(SHUT_RDWR))
    guard !isWitness, let process, PQtransactionStatus(raw) != PQTRANS_IDLE else { return }
    PostgreSQLProbe(options, logger: logger).endLater(process, on: host)
  }

  /// Runs a block that ends within a time, also against a busy server, and that a cancelled task does not interrupt.
  func within<T>(_ duration: Duration, _ body: () throws -> T) rethrows -> T {
    let outer = deadline
    deadline = min(outer ?? .now + duration, .now + duration)
    defer { deadline = outer }
    return try uninterrupted(body)
  }

  // MARK: Cancelling

  /// Asks the server to end what it is at. The statement fails, unless it was at its end already.
  ///
  /// libpq connects to the server for it and waits, so a thread does that whose end is waited for a while only. The
  /// wait cannot be left out: a late cancellation would hit the next statement.
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
