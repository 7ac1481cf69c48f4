import CoherenceCore
import CoherenceSQL
import Foundation

/// A writing transaction with a mark that proves its commit: after a lost connection, the client looks for the mark.
/// Used by the thread that has the connection.
struct PostgreSQLTransaction {
  /// The isolation level of a transaction.
  enum Isolation {
    case readCommitted, repeatableRead

    /// The statement that begins a transaction.
    fileprivate var beginStatement: PostgreSQLText {
      switch self {
      case .readCommitted: Self.beginReadCommitted
      case .repeatableRead: Self.beginRepeatableRead
      }
    }

    private static let beginReadCommitted = PostgreSQLText(
      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", isControl: true)
    private static let beginRepeatableRead = PostgreSQLText(
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE", isControl: true)
  }

  /// The transaction in which the work runs.
  enum Start {
    /// No transaction with locks is open. The work begins a transaction.
    case new
    /// The thread's transaction with locks is open. The work continues it, behind a savepoint.
    case open
  }

  let connection: PostgreSQLConnection
  private let pool: PostgreSQLPool
  private let isolation: Isolation
  private let start: Start
  /// The mark that the transaction writes, and whose presence in the database proves the commit.
  private let mark: PostgreSQLCommitMark
  /// Whether the server confirmed the write of the mark. The statement at the beginning writes no mark if the row of
  /// the session was removed, or if another store has replaced the store. The commit then inserts the row, or fails.
  private var isMarked = false
  /// Whether the beginning of the transaction locks its first table, so that a response to the lock follows.
  private var locksTable = false

  private init(
    _ connection: PostgreSQLConnection, _ store: PostgreSQLStore, _ isolation: Isolation, _ start: Start
  ) {
    self.connection = connection
    pool = store.pool
    self.isolation = isolation
    self.start = start
    mark = PostgreSQLCommitMark(nextOf: connection, in: store.identifier)
  }

  /// Runs a block in a transaction and commits it, durably.
  ///
  /// After a serialization failure or a deadlock, of which nothing was applied, the transaction is repeated a few
  /// times. It is never repeated after the connection broke.
  ///
  /// - Parameters:
  ///   - start: The transaction. An open transaction is rolled back to its state before the block after a failure, and
  ///     is not repeated.
  ///   - body: Calls ``sendBeginning(locking:)`` before it sends its first statement, and ``receiveBeginning()`` before
  ///     it receives the first response; or calls ``begin(with:locking:)`` for both. Runs again in each repetition.
  static func run<T>(
    on connection: PostgreSQLConnection, of store: PostgreSQLStore, _ isolation: Isolation = .readCommitted,
    in start: Start = .new, _ body: (inout PostgreSQLTransaction) throws -> T
  ) throws -> T {
    if start == .open { return try continuing(on: connection, of: store, isolation, body) }
    return try connection.repeatingTransaction {
      var transaction = PostgreSQLTransaction(connection, store, isolation, .new)
      return try transaction.committing(body)
    }
  }

  /// Runs a block in the open transaction of the thread's locks, and commits the transaction.
  private static func continuing<T>(
    on connection: PostgreSQLConnection, of store: PostgreSQLStore, _ isolation: Isolation,
    _ body: (inout PostgreSQLTransaction) throws -> T
  ) throws -> T {
    var transaction = PostgreSQLTransaction(connection, store, isolation, .open)
    return try rollingBackToSavepoint(on: connection) { try transaction.committing(body) }
  }

  /// Runs a block in the transaction, and commits the transaction.
  private mutating func committing<T>(_ body: (inout PostgreSQLTransaction) throws -> T) throws -> T {
    do {
      let result = try body(&self)
      try commit()
      return result
    } catch {
      // Later saves lock their rows in one order before they change them, so that they do not deadlock.
      if error.serverFailure?.isDeadlock == true { pool.saveLocking.require() }
      throw error
    }
  }

  /// Runs a block after the savepoint, and rolls back to the savepoint if the block fails.
  private static func rollingBackToSavepoint<T>(
    on connection: PostgreSQLConnection, _ body: () throws -> T
  ) throws -> T {
    do {
      return try body()
    } catch {
      // On a lost connection this fails too, and the first error explains the failure.
      try? connection.rollBack(to: savepoint)
      throw error
    }
  }

  /// Begins a transaction with statements that lock, and leaves it open; or adds the locks to an open transaction,
  /// which stays as it is after a failure.
  ///
  /// A new transaction is repeated after a deadlock. An open transaction is not repeated, because the thread would lose
  /// the locks that it already has.
  ///
  /// - Returns: The results of the statements.
  static func lock(
    on connection: PostgreSQLConnection, in start: Start, _ statements: [SQLFragment]
  ) throws -> [PostgreSQLResult] {
    if start == .new {
      return try connection.repeatingTransaction {
        _ = try connection.beginningToWrite { try connection.run(Isolation.readCommitted.beginStatement) }
        return try connection.run(statements)
      }
    }
    try connection.run(savepoint.setting)
    return try rollingBackToSavepoint(on: connection) { try connection.run(statements) }
  }

  // MARK: Beginning

  /// Queues the beginning of the transaction, and its mark. The end of an open reading transaction is sent with it,
  /// which saves a round trip.
  ///
  /// - Parameter lock: The lock of the first table, see ``PostgreSQLTableOrder``. An open transaction has it.
  mutating func sendBeginning(locking lock: SQLFragment? = nil) throws {
    switch start {
    case .new:
      if connection.isInTransaction { try connection.sendEnd() }
      try connection.send(isolation.beginStatement)
      locksTable = lock != nil
      // Before the mark, whose statement determines the state that a repeatable read sees.
      if let lock { try connection.send(lock.rendered(by: PostgreSQLDialect())) }
    case .open:
      try connection.send(Self.savepoint.setting)
    }
    try mark.send(on: connection)
  }

  /// The savepoint before a block in an open transaction.
  private static let savepoint = PostgreSQLSavepoint("w", isControl: true)

  /// Receives the responses to the statements of ``sendBeginning(locking:)``.
  mutating func receiveBeginning() throws {
    _ = try connection.beginningToWrite { try connection.receive() }
    if locksTable { _ = try connection.receive() }
    isMarked = try connection.receive().affectedCount > 0
  }

  /// Begins the transaction with the lock of a table and a statement, in one round trip. The statement only compares
  /// dates, which may therefore be out of the server's range.
  ///
  /// - Returns: The result of the statement.
  mutating func begin(with statement: SQLStatement, locking lock: SQLFragment) throws -> PostgreSQLResult {
    try connection.recovering {
      try sendBeginning(locking: lock)
      try connection.send(statement, clampsDates: true)
      try connection.synchronize()
      try receiveBeginning()
      return try connection.receiveLast()
    }
  }

  // MARK: Committing

  /// Commits the transaction. After a lost connection, looks for the proof of the commit.
  ///
  /// - Throws: The failure of the commit, with its outcome.
  private func commit() throws {
    if !isMarked { try mark.insert(on: connection) }
    do {
      let result = try withinCommitTimeout { try connection.run(.commit) }
      guard result.command == "COMMIT" else {
        throw CoherenceError(.inputOutput, "The PostgreSQL server did not commit; try again.", isRetryable: true)
      }
      // Each session adds a row to the table of commits, so that some sessions have to remove the expired rows.
      let isFirstCommit = connection.lastMark == nil
      connection.lastMark = .now
      if isFirstCommit, pool.commitSessions.add() { connection.removeExpiredCommits(in: pool.options.schema) }
    } catch let error as CoherenceError where error.code == .connectionLost || connection.isBroken {
      // The outcome of the commit is unknown after a lost connection, for every code of the error.
      try resolveOutcome(error)
    }
  }

  /// Runs the statement that commits. A cancelled task does not interrupt it.
  ///
  /// The server's own limit does not include the deferred checks and the wait for standbys, so the client limits the
  /// commit. The client does not cancel the statement: the server would end the wait for a standby and report a commit.
  private func withinCommitTimeout<T>(_ body: () throws -> T) throws -> T {
    guard let timeout = pool.options.commitTimeout else { return try connection.uninterrupted(body) }
    return try connection.within(timeout, body)
  }

  /// Looks over another connection for the transaction's mark in the database, within the pool's timeout. Throws the
  /// error with the outcome.
  private func resolveOutcome(_ error: CoherenceError) throws {
    let deadline = ContinuousClock.now + .seconds(pool.options.poolTimeout)
    repeat {
      if case .success(let proof) = Result(catching: { try isCommitted(by: deadline) }) {
        guard let proof else { break }
        if proof { return }
        throw error
      }
      Thread.sleep(forTimeInterval: 0.1)
    } while .now < deadline
    throw unknownOutcome(error)
  }

  /// Asks the host of the transaction for the proof of the commit; if that host is lost or has become a standby, asks
  /// another host of the connection string.
  private func isCommitted(by deadline: ContinuousClock.Instant) throws -> Bool? {
    do {
      return try isCommitted(on: connection.host, by: deadline)
    } catch let error as CoherenceError where error.suggestsAnotherHost {
      return try isCommitted(on: nil, by: deadline)
    }
  }

  /// Asks a host for the proof of the commit; `nil` for no proof, neither of the commit nor of its failure.
  ///
  /// - Parameter host: The host; `nil` for any host of the connection string.
  private func isCommitted(on host: PostgreSQLHost?, by deadline: ContinuousClock.Instant) throws -> Bool? {
    let timeout = max(.zero, deadline - .now)
    let connection = try PostgreSQLConnection.connect(pool.options, to: host, within: timeout, logger: pool.logger)
    connection.isProbe = true
    // The question has half a second even if the connection came at the end of the time.
    return try connection.within(max(.milliseconds(500), deadline - .now)) {
      try mark.isCommitted(of: self.connection.process, askedOn: connection)
    }
  }

  private func unknownOutcome(_ error: CoherenceError) -> CoherenceError {
    CoherenceError(
      .connectionLost,
      "The connection to the PostgreSQL server broke during the commit, and no proof of the commit was found; read the "
        + "records to see whether the changes were applied.", underlying: error.underlying, outcome: .unknown)
  }
}

extension CoherenceError {
  /// Whether another host may have the proof, because the server is lost or no longer the primary. A starting server is
  /// waited for.
  fileprivate var suggestsAnotherHost: Bool {
    code == .storeReadOnly || (code == .serverUnreachable && serverFailure?.isStarting != true)
  }
}
