import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation

/// A reader of a PostgreSQL store: one connection with one transaction, from the first read on. Between two reads the
/// pool may reclaim the connection; then the next read begins another transaction.
final class PostgreSQLReader: YieldingReader, StateLosingReader, @unchecked Sendable {
  // Sendable: the variables are used under `readLock`, by the one thread that reads and by the pool. `hold` is set
  // before the first read.

  let store: PostgreSQLStore
  /// The hold by which the context asks the reader to stay in its state. Without a hold, the reader stays in its state
  /// until it is finished.
  var hold: StateHold?
  /// Whether the reader stays in its state beyond the units of work, with a connection beside the pool.
  var isLasting: Bool { hold?.isLasting == true }
  /// The number of states that the reader has left, each with the return of its connection.
  private var leftStateCount = 0
  /// The number of the present state. Waits while the pool reclaims the connection.
  var stateNumber: Int { readLock.withLock { leftStateCount } }
  /// Locked during a read. A reading thread may wait for the pool, so the pool only tries to lock.
  private let readLock = NSRecursiveLock()
  private var lastUse = ContinuousClock.now
  private var connection: PostgreSQLConnection?
  /// Whether the transaction has begun on the connection.
  private var hasBegun = false
  private var isFinished = false
  /// Whether a save of the same thread may have the connection.
  private var isOffered = false
  /// The error that ended the transaction. No read is possible in it any more.
  private var failure: (any Error)?
  var hasLostState: Bool { readLock.withLock { failure != nil } }
  /// The cursor of the fetch whose rows have not all been received.
  private weak var cursor: PostgreSQLCursor?

  init(_ store: PostgreSQLStore) { self.store = store }

  deinit { finish() }

  // MARK: StoreReader

  func fetch(_ query: StoreQuery) throws -> StoreFetch { try fetch(store.planner.select(query), limit: query.limit) }

  /// Runs the statement of a plan, and returns a cursor over its rows.
  ///
  /// - Parameter limit: The limit of the query.
  func fetch(_ plan: SelectPlan, limit: Int?) throws -> StoreFetch {
    let statement = plan.statement.rendered(by: PostgreSQLDialect())
    // Core filters the rows of an inexact query, stops at the limit, and continues to read in the same state.
    let isStoppable = limit != nil && !plan.isRangeExact
    let decoder = PostgreSQLRowDecoder(plan.layout, spaces: store.spaces)
    // A COPY takes no parameters.
    let isCopied = statement.bindings.isEmpty && !isStoppable && (limit ?? .max) >= Self.copyThreshold
    let cursor = PostgreSQLCursor(self, decoder, statement.text, isStoppable: isStoppable, isCopied: isCopied)
    try read { connection in
      if isCopied {
        try beginCopy(of: statement, connection)
      } else {
        try begin(statement, connection, isStoppable: isStoppable)
      }
      // Waits for the first row, which pins the state that the reader sees.
      try cursor.start(connection)
    }
    if !cursor.isAtEnd { self.cursor = cursor }
    return plan.fetch(cursor)
  }

  private func begin(_ statement: SQLStatement, _ connection: PostgreSQLConnection, isStoppable: Bool) throws {
    try send(statement, afterSavepoint: isStoppable, connection)
    try connection.beginRows()
  }

  private func beginCopy(of statement: SQLStatement, _ connection: PostgreSQLConnection) throws {
    let copy = "COPY (\(statement.text)) TO STDOUT (FORMAT binary)"
    try connection.beginCopiedRows((hasBegun ? [] : beginningStatements.map(\.text)) + [copy])
    hasBegun = true
  }

  func row(_ key: Int64, of root: EntityDescription) throws -> Row? {
    let query = try store.rowQueries.query(for: root)
    let result = try self.result(of: query.text.text) { connection in
      try connection.send(query.text) { $0.append(key) }
    }
    return result.rowCount == 0 ? nil : try query.decoder.row(PostgreSQLResultRow(result: result, index: 0))
  }

  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] {
    if keys.isEmpty { return [] }
    let (statement, layout) = try store.planner.rows(keys, of: root)
    return try PostgreSQLRowDecoder(layout, spaces: store.spaces).rows(result(of: statement))
  }

  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    if keys.isEmpty { return [] }
    let result = try self.result(of: store.planner.links(table, of: keys, fromSource: fromSource))
    return (0..<result.rowCount).map { row in
      Link(
        source: result.int(row, 0) ?? 0, target: result.int(row, 1) ?? 0, sourcePosition: result.int(row, 2),
        targetPosition: result.int(row, 3))
    }
  }

  func count(_ query: StoreQuery) throws -> Int? {
    guard let statement = try store.planner.count(query) else { return nil }
    return query.countInRange(of: Int(try result(of: statement).int(0, 0) ?? 0))
  }

  func finish() {
    readLock.lock()
    defer { readLock.unlock() }
    guard !isFinished else { return }
    isFinished = true
    guard let connection else { return }
    self.connection = nil
    // The rest of an unfinished fetch is not received.
    if !connection.isBroken, !connection.hasAllResponses { try? connection.cancel() }
    cursor = nil
    connection.endTransactionLater()
    store.pool.release(connection, of: self)
  }

  // MARK: Yielding

  /// Whether no read happened for a duration.
  ///
  /// - Returns: `false` during a read.
  func isIdle(for duration: Duration) -> Bool {
    guard readLock.try() else { return false }
    defer { readLock.unlock() }
    return ContinuousClock.now - lastUse >= duration
  }

  /// Releases the connection to the pool; returns `nil` during a read, with unreceived rows of a fetch, or while
  /// the reader must stay in its state. Never waits.
  func yieldConnection() -> PostgreSQLConnection? {
    guard readLock.try() else { return nil }
    defer { readLock.unlock() }
    guard let connection, !isFinished, failure == nil, hold?.isFree == true, cursor?.isAtEnd != false,
      connection.hasAllResponses
    else { return nil }
    leaveState()
    connection.endTransactionLater()
    return connection
  }

  // MARK: Saving

  func offerToSave() -> Bool {
    readLock.lock()
    defer { readLock.unlock() }
    guard let connection, !isFinished, !isLasting, failure == nil, cursor?.isAtEnd != false, connection.hasAllResponses
    else { return false }
    isOffered = true
    return true
  }

  /// Whether a save of the thread may have the connection. Never waits.
  var isOffering: Bool {
    guard readLock.try() else { return false }
    defer { readLock.unlock() }
    return isOffered && connection != nil
  }

  /// Passes the connection to a save, with the transaction open; `nil` if none is offered. Never waits.
  func takeOffer() -> PostgreSQLConnection? {
    guard readLock.try() else { return nil }
    defer { readLock.unlock() }
    guard isOffered, !isFinished, let connection else { return nil }
    leaveState()
    return connection
  }

  /// Gives up the connection. The next read begins a transaction in another state.
  private func leaveState() {
    connection = nil
    hasBegun = false
    leftStateCount += 1
  }

  // MARK: Reading

  /// The least limit of rows for which a COPY may pay off, although the server plans the statement again.
  private static let copyThreshold = 100
  /// The savepoint before a statement whose failure does not end the transaction.
  static let savepoint = PostgreSQLSavepoint("c")
  private static let begin = PostgreSQLText("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isControl: true)
  /// The savepoint at the beginning of a transaction that outlives units of work. A rollback to it keeps the state,
  /// which belongs to the whole transaction.
  private static let beginning = PostgreSQLSavepoint("b", isControl: true)

  /// The statements that begin the transaction.
  private var beginningStatements: [PostgreSQLText] { isLasting ? [Self.begin, Self.beginning.setting] : [Self.begin] }

  /// The result of a statement.
  func result(of statement: SQLFragment) throws -> PostgreSQLResult {
    let statement = statement.rendered(by: PostgreSQLDialect())
    return try result(of: statement.text) { try $0.send(statement, clampsDates: true) }
  }

  /// The result of a statement that a block sends.
  private func result(of text: String, _ send: (PostgreSQLConnection) throws -> Void) throws -> PostgreSQLResult {
    try read { connection in
      try connection.timed([text]) {
        try begin(on: connection, afterSavepoint: false) { try send(connection) }
        return try connection.receiveLast()
      }
    }
  }

  /// Runs a block with the connection, after any unfinished fetch is received.
  func read<T>(_ body: (PostgreSQLConnection) throws -> T) throws -> T {
    readLock.lock()
    defer {
      lastUse = .now
      readLock.unlock()
    }
    try store.pool.checkIsOpen()
    if isFinished { throw CoherenceError.readerFinished }
    if let failure { throw failure }
    let connection = try self.connection ?? store.pool.acquire(for: .reading, by: self)
    self.connection = connection
    return try run(on: connection) {
      try completeFetch(connection)
      return try body(connection)
    }
  }

  /// Runs a block in the transaction, which an error of the block ends, unless the state outlives units of work.
  private func run<T>(on connection: PostgreSQLConnection, _ body: () throws -> T) throws -> T {
    do {
      return try connection.recovering(body)
    } catch {
      note(error, on: connection)
      throw error
    }
  }

  /// Ends the unfinished fetch after an error, and the transaction with it. A lasting state survives the error, such as
  /// the cancellation of one of the tasks that read in it: the transaction returns to its beginning.
  private func note(_ error: any Error, on connection: PostgreSQLConnection) {
    cursor?.fail(error)
    cursor = nil
    if isLasting, hasBegun, returnToBeginning(on: connection) { return }
    failure = error
  }

  /// Rolls the transaction back to the savepoint at its beginning.
  ///
  /// - Returns: Whether the server has done so.
  private func returnToBeginning(on connection: PostgreSQLConnection) -> Bool {
    guard !connection.isBroken else { return false }
    return (try? connection.within(.seconds(10), { try connection.rollBack(to: Self.beginning) })) != nil
  }

  /// Receives the remaining rows of an unfinished fetch, so that another statement can run.
  private func completeFetch(_ connection: PostgreSQLConnection) throws {
    if let cursor { try cursor.receiveRest(connection) } else { try connection.discardResponses() }
    cursor = nil
  }

  /// Sends a statement, and receives the responses before its own: that of the transaction's begin, and that of a
  /// savepoint.
  ///
  /// - Parameter afterSavepoint: Whether the statement can be rolled back to ``savepoint`` without the end of the
  ///   transaction.
  func send(_ statement: SQLStatement, afterSavepoint: Bool, _ connection: PostgreSQLConnection) throws {
    try begin(on: connection, afterSavepoint: afterSavepoint) { try connection.send(statement, clampsDates: true) }
  }

  /// Queues the begin of the transaction before its first statement, which saves a round trip, then a savepoint and the
  /// statement of a block, and receives the responses before that of the statement.
  private func begin(
    on connection: PostgreSQLConnection, afterSavepoint: Bool, _ send: () throws -> Void
  ) throws {
    let statements = hasBegun ? [] : beginningStatements
    for statement in statements { try connection.send(statement) }
    if afterSavepoint { try connection.send(Self.savepoint.setting) }
    try send()
    try connection.synchronize()
    for _ in statements { _ = try connection.receive() }
    hasBegun = true
    if afterSavepoint { _ = try connection.receive() }
  }

  // MARK: Cursors

  /// Runs a block with the connection while the cursor's rows are coming.
  func pull<T>(_ body: (PostgreSQLConnection) throws -> T) throws -> T {
    readLock.lock()
    defer { readLock.unlock() }
    try store.pool.checkIsOpen()
    guard !isFinished, let connection else { throw CoherenceError.readerFinished }
    if let failure { throw failure }
    return try run(on: connection) { try body(connection) }
  }

  /// Ends a fetch whose cursor is closed before the last row.
  ///
  /// - Parameter isStoppable: Whether the statement runs after a savepoint, to which a rollback stops it.
  func stop(isStoppable: Bool) {
    readLock.lock()
    defer { readLock.unlock() }
    cursor = nil
    guard !isFinished, failure == nil, let connection else { return }
    do {
      if isStoppable {
        try connection.cancel(rollingBackTo: Self.savepoint)
      } else if Task.isCancelled {
        try connection.cancel()
        try connection.discardResponses()
        throw CoherenceError(.cancelled, "The task was cancelled during a fetch.")
      }
      // The next read receives the rest, and the end of the reader cancels it.
    } catch {
      note(error, on: connection)
    }
  }
}
