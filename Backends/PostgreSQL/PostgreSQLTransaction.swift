import CoherenceCore
import CoherenceSQL
import Foundation

/// A transaction that changes something, and that knows in the end whether it did.
struct PostgreSQLTransaction {
  enum Isolation: String {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
  }

  let connection: PostgreSQLConnection
  private let pool: PostgreSQLPool
  private let isolation: Isolation
  /// The server's number of the transaction.
  private var number: Int64?
  private static let tries = 5

  private init(_ connection: PostgreSQLConnection, _ pool: PostgreSQLPool, _ isolation: Isolation) {
    self.connection = connection
    self.pool = pool
    self.isolation = isolation
  }

  /// Runs a block in a transaction and commits it, durably.
  ///
  /// The transaction is made again, some times, when the server gave it up for the sake of another one: nothing of it was
  /// applied then. It is never made again when the link broke.
  ///
  /// - Parameter body: Sends ``sendBeginning()`` before its first statement and calls ``receiveBeginning()`` before it
  ///   receives the first answer.
  static func run<T>(
    on connection: PostgreSQLConnection, of pool: PostgreSQLPool, _ isolation: Isolation = .readCommitted,
    _ body: (inout PostgreSQLTransaction) throws -> T
  ) throws -> T {
    var attempt = 1
    while true {
      var transaction = PostgreSQLTransaction(connection, pool, isolation)
      do {
        let result = try body(&transaction)
        try transaction.commit()
        return result
      } catch {
        connection.rollBack()
        guard error.isSerializationFailure, attempt < tries else { throw error }
        // Those who got into each other's way do not come back at the same time.
        Thread.sleep(forTimeInterval: .random(in: 0.5...1) * 0.01 * Double(1 << attempt))
        attempt += 1
      }
    }
  }

  // MARK: Beginning

  /// Queues the beginning of the transaction, and the question for its number.
  func sendBeginning() throws {
    try connection.send(PostgreSQLText("BEGIN ISOLATION LEVEL \(isolation.rawValue) READ WRITE"))
    try connection.send(PostgreSQLText("SELECT pg_catalog.pg_current_xact_id()"))
  }

  mutating func receiveBeginning() throws {
    _ = try connection.receive()
    number = try connection.receive().int(0, 0)
  }

  // MARK: Committing

  private func commit() throws {
    do {
      let answer = try connection.uninterrupted { try connection.run("COMMIT") }
      guard answer.command == "COMMIT" else {
        throw CoherenceError(.inputOutput, "The PostgreSQL server did not commit; try again.", isRetryable: true)
      }
    } catch let error as CoherenceError where error.code == .connectionLost {
      try findOut(error)
    }
  }

  /// Asks the server, on another connection, what became of the transaction. The pool's patience counts here too.
  private func findOut(_ error: CoherenceError) throws {
    let deadline = Date(timeIntervalSinceNow: pool.options.poolTimeout)
    repeat {
      switch try? state() {
      case "committed": return
      case "aborted": throw error
      case "in progress", nil: Thread.sleep(forTimeInterval: 0.1)
      default: throw unknown(error)
      }
    } while Date.now < deadline
    throw unknown(error)
  }

  /// The server's word for the transaction's state; empty when it does not know any more.
  private func state() throws -> String? {
    guard let number else { return "" }
    let connection = try PostgreSQLConnection.connect(pool.options, logger: pool.logger)
    // 5069 is the number of the type of transaction numbers.
    try connection.send(PostgreSQLText("SELECT pg_catalog.pg_xact_status($1)", types: [5069], isKept: false)) {
      $0.append(number)
    }
    try connection.synchronize()
    return try connection.receive().text(0, 0) ?? ""
  }

  private func unknown(_ error: CoherenceError) -> CoherenceError {
    CoherenceError(
      .connectionLost,
      "The connection to the PostgreSQL server broke while it committed, and it cannot be found out whether it did; read "
        + "the records to find out.", underlying: error.underlying, outcome: .unknown)
  }
}

extension Error {
  /// Whether the server gave a transaction up for the sake of another one.
  fileprivate var isSerializationFailure: Bool {
    ((self as? CoherenceError)?.underlying as? PostgreSQLFailure)?.isSerializationFailure ?? false
  }
}
