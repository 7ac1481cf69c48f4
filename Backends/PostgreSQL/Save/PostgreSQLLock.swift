import CoherenceCore
import CoherenceSQL

/// Statements that lock, and the limit of their wait.
struct PostgreSQLLock {
  private let statements: [SQLFragment]
  /// The locked records, for errors.
  private let name: String
  private let timeout: Duration?

  init(_ statements: [SQLFragment], of name: String, _ timeout: Duration?) {
    self.statements = statements
    self.name = name
    self.timeout = timeout
  }

  /// The longest wait for a connection, with the time to open one; `nil` for the pool's.
  var connectionTimeout: Duration? { timeout.map { max($0, .seconds(1)) } }

  /// Acquires the locks.
  ///
  /// - Returns: The results of the statements.
  /// - Throws: ``ErrorCode/storeBusy`` after the timeout and after a deadlock. An open transaction is unchanged then.
  func acquire(
    on connection: PostgreSQLConnection, in start: PostgreSQLTransaction.Start
  ) throws -> [PostgreSQLResult] {
    do {
      guard let timeout else { return try PostgreSQLTransaction.lock(on: connection, in: start, statements) }
      let results = try PostgreSQLTransaction.lock(
        on: connection, in: start,
        [Self.limit(timeout)] + statements + Self.usualLimits(connection.options.statementTimeout))
      return Array(results[1..<(statements.count + 1)])
    } catch let error as CoherenceError where error.code == .storeBusy {
      throw busy(error)
    }
  }

  /// Limits each wait for a lock to the timeout, and each statement to a second more.
  private static func limit(_ timeout: Duration) -> SQLFragment {
    // Zero would mean no limit.
    let milliseconds = Int(min(max(timeout / .milliseconds(1), 1), Double(Int32.max - 1_000)))
    return """
      SELECT pg_catalog.set_config('lock_timeout', \(text: String(milliseconds)), true), \
      pg_catalog.set_config('statement_timeout', \(text: String(milliseconds + 1_000)), true)
      """
  }

  /// Restores the limits for the rest of the transaction.
  ///
  /// - Parameter statementTimeout: The limit that the connection has set for its session, in seconds. The default is
  ///   that of the server, the database or the role.
  private static func usualLimits(_ statementTimeout: Double?) -> [SQLFragment] {
    let statement: SQLFragment =
      statementTimeout.map { seconds in
        "SELECT pg_catalog.set_config('statement_timeout', \(text: String(Int(seconds * 1000))), true)"
      } ?? "SET LOCAL statement_timeout TO DEFAULT"
    return ["SET LOCAL lock_timeout TO DEFAULT", statement]
  }

  /// The error for locks that were not acquired, by the reason.
  private func busy(_ error: CoherenceError) -> CoherenceError {
    let reason =
      error.serverFailure?.isSerializationFailure == true
      ? "met a deadlock with other writers; let the error end all locks, and try again"
      : "waited for other writers longer than it may; try again, or raise the timeout"
    return CoherenceError(
      .storeBusy, "The lock of \(name) \(reason).", underlying: error.underlying, isRetryable: true)
  }
}
