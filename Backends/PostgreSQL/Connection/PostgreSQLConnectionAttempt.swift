import CLibPQ
import CoherenceCore
import Dispatch
import Foundation

/// An attempt to connect, on a thread of its own.
///
/// libpq resolves host names, and calls other services, in uninterruptible calls. Its `connect_timeout` applies to each
/// address separately, and the user's connection string may set it. The caller therefore waits for the thread only
/// until the time limit of the attempt. A thread that finishes later closes its connection.
final class PostgreSQLConnectionAttempt: Sendable {
  /// The result of the attempt. The receiver closes the connection.
  struct ConnectionResult: @unchecked Sendable {
    // Sendable: a connection is used by one thread at a time, and the thread that made it hands it over.

    /// The connection, failed or not; `nil` for lack of memory.
    let raw: OpaquePointer?
    /// libpq's message for the failure.
    var message = ""
    /// libpq's message, with all details, of a failed second attempt; `nil` without one.
    var details: String?
  }

  private enum State { case running, done(ConnectionResult), abandoned }
  private let state = Locked<State>(.running)
  private let end = DispatchSemaphore(value: 0)

  /// The number of abandoned attempts whose threads still run.
  private static let abandoned = Locked<Int>(0)
  /// The greatest number of abandoned threads.
  static let mostAbandoned = 32
  static var abandonedCount: Int { abandoned.withLock { $0 } }

  /// Connects within a duration.
  ///
  /// - Parameters:
  ///   - duration: The time limit of the attempt.
  ///   - connect: Makes the connection, however long it takes.
  /// - Returns: `nil` after the duration, or when too many earlier attempts are still stuck.
  static func run(
    within duration: Duration, _ connect: @escaping @Sendable () -> ConnectionResult
  ) -> ConnectionResult? {
    guard abandonedCount < mostAbandoned else { return nil }
    let attempt = PostgreSQLConnectionAttempt()
    Thread.detachNewThread { attempt.finish(connect()) }
    return attempt.wait(until: .now() + duration / .seconds(1))
  }

  /// Waits for the result; returns `nil` after the deadline, which abandons the attempt.
  private func wait(until deadline: DispatchTime) -> ConnectionResult? {
    _ = ContextThreads.waiting { end.wait(timeout: deadline) }
    return state.withLock { state in
      if case .done(let result) = state { return result }
      state = .abandoned
      Self.abandoned.withLock { $0 += 1 }
      return nil
    }
  }

  /// Passes the result to the caller, or closes the connection of an abandoned attempt. Called on the attempt's thread.
  private func finish(_ result: ConnectionResult) {
    let isAbandoned = state.withLock { state in
      if case .abandoned = state { return true }
      state = .done(result)
      return false
    }
    guard isAbandoned else {
      end.signal()
      return
    }
    if let raw = result.raw { PQfinish(raw) }
    Self.abandoned.withLock { $0 -= 1 }
  }
}

extension PostgreSQLConnectionAttempt.ConnectionResult {
  /// Connects with libpq's settings, as long as libpq takes for it.
  ///
  /// libpq includes the SQLSTATE code of a refusal only in verbose messages, which must be requested before connecting.
  /// So a server that refuses at once is asked a second time.
  init(connectingWith settings: [(String, String)]) {
    let keywords = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for text in keywords + values { free(text) } }
    let start = ContinuousClock.now
    raw = PQconnectdbParams(keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
    guard let raw, PQstatus(raw) != CONNECTION_OK else { return }
    message = String(cString: PQerrorMessage(raw))
    guard PQconnectionNeedsPassword(raw) != 1, ContinuousClock.now - start < .seconds(2) else { return }
    PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)
    PQreset(raw)
    // If the second attempt succeeds, its connection is used.
    if PQstatus(raw) != CONNECTION_OK { details = String(cString: PQerrorMessage(raw)) }
    PQsetErrorVerbosity(raw, PQERRORS_DEFAULT)
  }
}
