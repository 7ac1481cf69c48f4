import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation

/// A unit of reading: one connection with one transaction, from the first read on. Between two reads the pool may reclaim
/// the connection; then the next read begins another transaction.
final class PostgreSQLReader: YieldingReader, @unchecked Sendable {
  // Sendable: the variables are used under `turn`, by the one thread that reads and by the pool. `hold` is set before
  // the first read.

  let store: PostgreSQLStore
  var hold: StateHold?
  /// Whether the reader stays in its state beyond the units of work, with a connection beside the pool.
  var isLasting: Bool { hold?.isLasting == true }
  private var states = 0
  /// The number of the present state. Waits while the pool reclaims the connection.
  var stateNumber: Int { turn.withLock { states } }
  /// Held during a read. A reading thread may wait for the pool, so the pool only tries to take the lock.
  private let turn = NSRecursiveLock()
  private var lastUse = ContinuousClock.now
  private var connection: PostgreSQLConnection?
  private var hasBegun = false
  private var isFinished = false
  /// Whether a save of the same thread may have the connection.
  private var isOffered = false
  /// The error that ended the transaction. No read is possible in it any more.
  private var failure: (any Error)?
  /// The cursor of the fetch whose rows have not all been received.
  private weak var cursor: PostgreSQLCursor?

  init(_ store: PostgreSQLStore) { self.store = store }

  deinit { finish() }

  // MARK: StoreReader

  func fetch(_ query: StoreQuery) throws -> StoreFetch { try fetch(store.planner.select(query), limit: query.limit) }

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
    return StoreFetch(
      isPredicateExact: plan.isPredicateExact, isOrderExact: plan.isOrderExact, isRangeExact: plan.isRangeExact,
      cursor: cursor)
  }

  private func begin(_ statement: SQLStatement, _ connection: PostgreSQLConnection, isStoppable: Bool) throws {
    try sendBeginning(connection)
    if isStoppable { try connection.send(Self.savepointText) }
    try connection.send(statement, clampsDates: true)
    try connection.synchronize()
    try receiveBeginning(connection)
    if isStoppable { _ = try connection.receive() }
    try connection.beginRows()
  }

  private func beginCopy(of statement: SQLStatement, _ connection: PostgreSQLConnection) throws {
    let copy = "COPY (\(statement.text)) TO STDOUT (FORMAT binary)"
    try connection.beginCopiedRows(hasBegun ? [copy] : [Self.begin.text, copy])
    hasBegun = true
  }

  func row(_ key: Int64, of root: EntityDescription) throws -> Row? {
    let query = try store.rowQuery(root)
    let result = try answer(query.one) { $0.append(key) }
    return result.rowCount == 0 ? nil : try query.decoder.row(PostgreSQLResultRow(result: result, index: 0))
  }

  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] {
    if keys.isEmpty { return [] }
    let (statement, layout) = try store.planner.rows(keys, of: root)
    return try PostgreSQLRowDecoder(layout, spaces: store.spaces).rows(answer(statement))
  }

  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    if keys.isEmpty { return [] }
    let result = try answer(store.planner.links(table, of: keys, fromSource: fromSource))
    return (0..<result.rowCount).map { row in
      Link(
        source: result.int(row, 0) ?? 0, target: result.int(row, 1) ?? 0, sourcePosition: result.int(row, 2),
        targetPosition: result.int(row, 3))
    }
  }

  func count(_ query: StoreQuery) throws -> Int? {
    guard let statement = try store.planner.count(query) else { return nil }
    let number = Int(try answer(statement).int(0, 0) ?? 0)
    return min(max(number - query.offset, 0), query.limit ?? .max)
  }

  func finish() {
    turn.lock()
    defer { turn.unlock() }
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
    guard turn.try() else { return false }
    defer { turn.unlock() }
    return ContinuousClock.now - lastUse >= duration
  }

  /// Releases the connection to the pool; returns `nil` during a read, with unreceived rows of a fetch, or with a held
  /// state. Never waits.
  func yieldConnection() -> PostgreSQLConnection? {
    guard turn.try() else { return nil }
    defer { turn.unlock() }
    guard let connection, !isFinished, failure == nil, hold?.isFree == true, cursor?.isAtEnd != false,
      connection.hasAllResponses
    else { return nil }
    self.connection = nil
    hasBegun = false
    states += 1
    connection.endTransactionLater()
    return connection
  }

  // MARK: Saving

  func offerToSave() -> Bool {
    turn.lock()
    defer { turn.unlock() }
    guard let connection, !isFinished, !isLasting, failure == nil, cursor?.isAtEnd != false, connection.hasAllResponses
    else { return false }
    isOffered = true
    return true
  }

  /// Whether a save of the thread may have the connection. Never waits.
  var isOffering: Bool {
    guard turn.try() else { return false }
    defer { turn.unlock() }
    return isOffered && connection != nil
  }

  /// Passes the connection to a save, with the transaction open; `nil` if none is offered. Never waits.
  func takeOffer() -> PostgreSQLConnection? {
    guard turn.try() else { return nil }
    defer { turn.unlock() }
    guard isOffered, !isFinished, let connection else { return nil }
    self.connection = nil
    hasBegun = false
    states += 1
    return connection
  }

  // MARK: Reading

  /// The least limit of rows for which a COPY may pay off, although the server plans the statement again.
  private static let copyThreshold = 100
  static let savepoint = "SAVEPOINT \"c\""
  static let savepointText = PostgreSQLText(savepoint)
  private static let begin = PostgreSQLText("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isControl: true)

  func answer(_ statement: SQLFragment) throws -> PostgreSQLResult {
    let statement = statement.rendered(by: PostgreSQLDialect())
    return try answer(PostgreSQLText(statement)) { fields in
      for binding in statement.bindings { try fields.append(binding, clampsDates: true) }
    }
  }

  private func answer(_ text: PostgreSQLText, bind: (PostgreSQLFields) throws -> Void) throws -> PostgreSQLResult {
    try read { connection in
      try connection.timed([text.text]) {
        try sendBeginning(connection)
        try connection.send(text, bind: bind)
        try connection.synchronize()
        try receiveBeginning(connection)
        let result = try connection.receive()
        try connection.discardResponses()
        return result
      }
    }
  }

  /// Runs a block with the connection, after any unfinished fetch is received.
  func read<T>(_ body: (PostgreSQLConnection) throws -> T) throws -> T {
    turn.lock()
    defer {
      lastUse = .now
      turn.unlock()
    }
    try store.pool.checkIsOpen()
    guard !isFinished else {
      throw CoherenceError(.illegalState, "The unit of reading was ended; make another reader.")
    }
    if let failure { throw failure }
    let connection = try self.connection ?? store.pool.acquire(for: .reading, by: self)
    self.connection = connection
    do {
      return try connection.recovering {
        try completeFetch(connection)
        return try body(connection)
      }
    } catch {
      failure = error
      throw error
    }
  }

  /// Receives the remaining rows of an unfinished fetch, so that another statement can run.
  private func completeFetch(_ connection: PostgreSQLConnection) throws {
    if let cursor { try cursor.receiveRest(connection) } else { try connection.discardResponses() }
    cursor = nil
  }

  /// Queues the begin of the transaction before the first statement, which saves a round trip.
  func sendBeginning(_ connection: PostgreSQLConnection) throws {
    if !hasBegun { try connection.send(Self.begin) }
  }

  func receiveBeginning(_ connection: PostgreSQLConnection) throws {
    if !hasBegun { _ = try connection.receive() }
    hasBegun = true
  }

  // MARK: Cursors

  /// Runs a block with the connection while the cursor's rows are coming.
  fileprivate func pull<T>(_ body: (PostgreSQLConnection) throws -> T) throws -> T {
    turn.lock()
    defer { turn.unlock() }
    try store.pool.checkIsOpen()
    guard !isFinished, let connection else {
      throw CoherenceError(.illegalState, "The unit of reading was ended; make another reader.")
    }
    if let failure { throw failure }
    do {
      return try connection.recovering { try body(connection) }
    } catch {
      failure = error
      throw error
    }
  }

  /// Ends a fetch before its end.
  fileprivate func stop(isStoppable: Bool) {
    turn.lock()
    defer { turn.unlock() }
    cursor = nil
    guard !isFinished, failure == nil, let connection else { return }
    do {
      if isStoppable {
        try connection.cancel()
        try connection.discardResponses()
        try connection.rollBack(to: Self.savepoint)
      } else if Task.isCancelled {
        try connection.cancel()
        try connection.discardResponses()
        throw CoherenceError(.cancelled, "The task was cancelled during a fetch.")
      }
      // The next read receives the rest, and the end of the unit of reading cancels it.
    } catch {
      failure = error
    }
  }
}

/// The cursor of a fetch, which receives rows from the server.
final class PostgreSQLCursor: RowCursor {
  private let reader: PostgreSQLReader
  private let decoder: PostgreSQLRowDecoder
  private let text: String
  private let isStoppable: Bool
  /// The row that a COPY fills again and again; `nil` without a COPY.
  private let copiedRow: PostgreSQLCopiedRow?
  /// The rows received before the caller has asked for them.
  private var waiting: [Row] = []
  private(set) var isAtEnd = false
  private static let batchSize = 1024

  fileprivate init(
    _ reader: PostgreSQLReader, _ decoder: PostgreSQLRowDecoder, _ text: String, isStoppable: Bool, isCopied: Bool
  ) {
    self.reader = reader
    copiedRow = isCopied ? PostgreSQLCopiedRow() : nil
    self.decoder = decoder
    self.text = text
    self.isStoppable = isStoppable
  }

  fileprivate func start(_ connection: PostgreSQLConnection) throws {
    try connection.timed([text]) { try receive(1, into: &waiting, connection) }
  }

  /// Receives all remaining rows.
  fileprivate func receiveRest(_ connection: PostgreSQLConnection) throws {
    try receive(.max, into: &waiting, connection)
  }

  private func receive(_ count: Int, into rows: inout [Row], _ connection: PostgreSQLConnection) throws {
    var left = count
    while left > 0, !isAtEnd {
      guard let row = try receiveRow(connection) else {
        isAtEnd = true
        return
      }
      rows.append(row)
      left -= 1
    }
  }

  /// Reads the values of the next row. Returns `false` at the end.
  private func receive(
    _ slots: [Int], into values: UnsafeMutablePointer<AttributeValue>, _ connection: PostgreSQLConnection
  ) throws -> Bool {
    if let copiedRow {
      isAtEnd = try !connection.receiveCopiedRow(into: copiedRow)
      if !isAtEnd { try decoder.read(copiedRow, slots, into: values) }
    } else if let result = try connection.receiveRow() {
      try decoder.read(PostgreSQLResultRow(result: result, index: 0), slots, into: values)
    } else {
      isAtEnd = true
    }
    return !isAtEnd
  }

  private func receiveRow(_ connection: PostgreSQLConnection) throws -> Row? {
    if let copiedRow { return try connection.receiveCopiedRow(into: copiedRow) ? decoder.row(copiedRow) : nil }
    return try connection.receiveRow().map { try decoder.row(PostgreSQLResultRow(result: $0, index: 0)) }
  }

  func next(into rows: inout [Row]) throws -> Bool {
    let count = rows.count
    rows += takeWaiting()
    if !isAtEnd { try reader.pull { try receive(Self.batchSize, into: &rows, $0) } }
    return rows.count > count
  }

  /// Returns and removes the rows received before the caller has asked for them.
  private func takeWaiting() -> [Row] {
    defer { waiting = [] }
    return waiting
  }

  func close() {
    waiting = []
    if isAtEnd { return }
    isAtEnd = true
    reader.stop(isStoppable: isStoppable)
  }
}

extension PostgreSQLCursor: ValueCursor {
  func next(into sink: any ValueSink) throws -> Bool {
    let known = sink.count
    for row in takeWaiting() { try sink.put(row) }
    if isAtEnd { return sink.count > known }
    // An error of the sink ends the reading, not the transaction.
    if let refusal = try reader.pull({ try read(into: sink, $0) }) { throw refusal }
    return sink.count > known
  }

  /// Reads a batch. Returns the sink's error.
  private func read(into sink: any ValueSink, _ connection: PostgreSQLConnection) throws -> (any Error)? {
    let slots = sink.slots
    return try withUnsafeTemporaryAllocation(of: AttributeValue.self, capacity: max(slots.count, 1)) { room in
      guard let values = room.baseAddress else { return nil }
      for _ in 0..<Self.batchSize {
        guard try receive(slots, into: values, connection) else { break }
        do { try sink.take(values) } catch { return error }
      }
      return nil
    }
  }
}
