import CLibPQ
import CoherenceCore
import Foundation

// The limits of the wait for a response.

extension PostgreSQLConnection {
  /// Checks whether to continue waiting for a silent server, and throws if not.
  func checkSilence() throws {
    let now = ContinuousClock.now
    let since = silenceStart ?? now
    silenceStart = since
    if isInterruptible, let cancellation, now - cancellation > Self.cancellationTimeout {
      closeSocket()
      throw CoherenceError(
        .cancelled, "The task was cancelled, and the PostgreSQL server did not react; the connection was closed.")
    }
    if let deadline {
      if now >= deadline { throw closeSilentSocket() }
    } else if now - since > options.silenceTimeout {
      let probe = PostgreSQLProbe(options, logger: logger)
      let isWorking = probe.endIfStalled(process, on: host) { isReadable(within: 0) }
      if !isWorking, !isReadable(within: 0) { throw closeSilentSocket() }
      silenceStart = nil
    }
  }

  /// The time limit for the end of a cancelled statement.
  private static let cancellationTimeout = Duration.seconds(3)

  /// Closes the socket of a server that does not respond, and returns the error to throw.
  private func closeSilentSocket() -> CoherenceError {
    closeSocket()
    return CoherenceError(
      .connectionLost,
      "The PostgreSQL server no longer responds, so the connection was closed; check the network, and try again.",
      isRetryable: true)
  }

  /// Closes the socket without a message to the server. The connection is not used again. Another connection ends the
  /// server's process, which would keep its transaction and its locks.
  func closeSocket() {
    isClosed = true
    shutdown(PQsocket(raw), Int32(SHUT_RDWR))
    guard !isProbe, let process, PQtransactionStatus(raw) != PQTRANS_IDLE else { return }
    PostgreSQLProbe(options, logger: logger).endLater(process, on: host)
  }

  /// Runs a block with a time limit, even against a busy server. A cancelled task does not interrupt it.
  func within<T>(_ duration: Duration, _ body: () throws -> T) rethrows -> T {
    let outer = deadline
    deadline = min(outer ?? .now + duration, .now + duration)
    defer { deadline = outer }
    return try uninterrupted(body)
  }
}
