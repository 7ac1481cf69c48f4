import CoherenceCore
import CoherenceSQL
import Logging

extension PostgreSQLConnection {
  /// Queues a statement with its values.
  ///
  /// - Parameters:
  ///   - isPrepared: As ``PostgreSQLText/isPrepared``.
  ///   - clampsDates: Whether the statement may contain dates out of the server's range, because it only compares them.
  func send(_ statement: SQLStatement, isPrepared: Bool = true, clampsDates: Bool = false) throws {
    try send(PostgreSQLText(statement, isPrepared: isPrepared)) { fields in
      for binding in statement.bindings { try fields.append(binding, clampsDates: clampsDates) }
    }
  }

  /// Runs statements in one round trip. If a statement fails, the later ones do not run, and the connection is ready
  /// again.
  ///
  /// - Returns: The result of each statement.
  func run(_ statements: [SQLFragment], isPrepared: Bool = true, clampsDates: Bool = false) throws -> [PostgreSQLResult]
  {
    let statements = statements.map { $0.rendered(by: PostgreSQLDialect()) }
    return try timed(statements.map(\.text)) {
      try recovering {
        for statement in statements { try send(statement, isPrepared: isPrepared, clampsDates: clampsDates) }
        try synchronize()
        let results = try statements.map { _ in try receive() }
        try discardResponses()
        return results
      }
    }
  }

  /// Runs one statement.
  @discardableResult
  func run(_ statement: SQLFragment, isPrepared: Bool = true, clampsDates: Bool = false) throws -> PostgreSQLResult {
    try run([statement], isPrepared: isPrepared, clampsDates: clampsDates)[0]
  }

  /// Runs one statement without values.
  @discardableResult
  func run(_ text: PostgreSQLText) throws -> PostgreSQLResult {
    try timed([text.text]) {
      try recovering {
        try send(text)
        try synchronize()
        return try receiveLast()
      }
    }
  }

  /// Receives the response to the last statement of a batch, and the end of the batch.
  func receiveLast() throws -> PostgreSQLResult {
    let result = try receive()
    try discardResponses()
    return result
  }

  /// Runs a block that sends and receives. If the block fails, makes the connection ready again.
  func recovering<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      // On a lost connection this fails too, and the first error explains the failure.
      try? abandon()
      throw error
    }
  }

  /// Discards the responses of a batch that a failure interrupted.
  private func abandon() throws {
    guard !isBroken else { return }
    if !isSynchronized { try synchronize() }
    try discardResponses()
  }

  /// Logs statements, which have no values in them, with the time that a block takes to run them.
  func timed<T>(_ statements: @autoclosure () -> [String], _ body: () throws -> T) rethrows -> T {
    guard logger.logLevel <= .debug else { return try body() }
    let start = ContinuousClock.now
    defer {
      let duration = ContinuousClock.now - start
      logger.debug("\(statements().joined(separator: "; "))", metadata: ["duration": "\(duration)"])
    }
    return try body()
  }
}
