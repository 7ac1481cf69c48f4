import CoherenceCore
import CoherenceSQL

/// A reader of a SQLite store: one connection with one transaction, open from the first read on.
final class SQLiteReader: StateLosingReader {
  let store: SQLiteStore
  private let connection: SQLiteConnection
  private var hasBegun = false
  private var isFinished = false
  /// The error with which SQLite ended the transaction. Each later statement would see another state.
  private var failure: (any Error)?
  var hasLostState: Bool { failure != nil }
  /// The index of the log that this process writes; `nil` when the connection has another log open, or none.
  private let logIndex: SQLiteLogIndex?
  /// The state of the log at the beginning of the transaction; `nil` after the first read.
  private var stateAtBegin: SQLiteLogState?
  /// The state that the transaction sees; `nil` if it is not known for certain.
  private var state: SQLiteLogState?
  private var mark: StateMark?
  /// The statements that read rows by key, for each hierarchy read so far.
  private var rowLookups: [RowLookup] = []
  private var unfinishedCursors: [ObjectIdentifier: SQLiteCursor] = [:]

  init(_ store: SQLiteStore, connection: SQLiteConnection) {
    self.store = store
    self.connection = connection
    // The process maps the log of a file once: another address is another file, which came to the path later.
    logIndex = connection.logIndex == store.states?.index ? connection.logIndex : nil
  }

  deinit { finish() }

  /// Runs a block in the reader's transaction.
  func read<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
    try store.checkOpen()
    if isFinished { throw CoherenceError.readerFinished }
    if let failure { throw failure }
    do {
      return try store.recoveringDeletedLog {
        try connection.use { session in
          if !hasBegun {
            stateAtBegin = logIndex?.state
            try session.execute("BEGIN DEFERRED")
            hasBegun = true
          }
          let result = try body(session)
          if stateAtBegin != nil, session.isReading { noteState() }
          return result
        }
      }
    } catch {
      noteFailure(error)
      throw error
    }
  }

  // MARK: State

  /// Records the state that the transaction sees: the state at its beginning, if the log has the same
  /// state after the first read. No state of the log returns later.
  private func noteState() {
    if logIndex?.state == stateAtBegin { state = stateAtBegin }
    stateAtBegin = nil
  }

  /// Forgets the mark of the state after an error, and the state itself if SQLite has ended the transaction, as it does
  /// after failures of the disk and of memory.
  private func noteFailure(_ error: any Error) {
    stateAtBegin = nil
    state = nil
    mark = nil
    if hasBegun, (try? connection.use { $0.isInTransaction }) == false { failure = error }
  }

  /// The mark of the state that the transaction sees; `nil` if the state is unknown. Before the first read, this method
  /// fixes the transaction to a state, unless the state of its log cannot be known.
  func stateMark() throws -> StateMark? {
    guard logIndex != nil else { return nil }
    if let mark { return mark }
    if !hasBegun || stateAtBegin != nil { _ = try read { try $0.dataVersion() } }
    mark = state.flatMap { store.states?.mark(of: $0) }
    return mark
  }

  // MARK: StoreReader

  func fetch(_ query: StoreQuery) throws -> StoreFetch { try fetch(store.planner.select(query)) }

  func fetch(_ plan: SelectPlan) throws -> StoreFetch {
    let cursor = SQLiteCursor(self, SQLiteRowDecoder(plan.layout, spaces: store.spaces))
    // The first rows are read at once: they pin the state that the reader sees.
    try read { try cursor.start(plan.statement.rendered(by: SQLiteDialect()), $0) }
    if !cursor.isAtEnd { unfinishedCursors[ObjectIdentifier(cursor)] = cursor }
    return plan.fetch(cursor)
  }

  func row(_ key: Int64, of root: EntityDescription) throws -> Row? {
    guard !isFinished, let lookup = rowLookups.first(where: { $0.root === root }) else {
      try prepareLookup(of: root)
      return try row(key, of: root)
    }
    try store.checkOpen()
    if let failure { throw failure }
    do {
      let row = try lookup.row(key)
      if stateAtBegin != nil { noteState() }
      return row
    } catch {
      let error = store.errors.translated(error)
      noteFailure(error)
      store.recoverDeletedLog(after: error)
      throw error
    }
  }

  private func prepareLookup(of root: EntityDescription) throws {
    let query = try store.rowQueries.query(for: root)
    let statement = try read { try $0.rowStatement(root, query.text) }
    let log = StatementLog(store.environment.logger)
    rowLookups.append(RowLookup(root: root, statement: statement, decoder: query.decoder, log: log, text: query.text))
  }

  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] {
    let query = try store.rowQueries.query(for: root)
    var rows: [Row] = []
    rows.reserveCapacity(keys.count)
    try read { session in
      for chunk in keys.chunks {
        let (statement, _) = try store.planner.rows(chunk, of: root)
        try session.with(statement) { statement in
          while try statement.step() { rows.append(try query.decoder.row(statement.handle)) }
        }
      }
    }
    return rows
  }

  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    var links: [Link] = []
    try read { session in
      for chunk in Set(keys).sorted().chunks {
        try session.with(store.planner.links(table, of: chunk, fromSource: fromSource)) { statement in
          while try statement.step() {
            links.append(
              Link(
                source: statement.integer(0), target: statement.integer(1),
                sourcePosition: statement.optionalInteger(2), targetPosition: statement.optionalInteger(3)))
          }
        }
      }
    }
    return links
  }

  func count(_ query: StoreQuery) throws -> Int? {
    guard let statement = try store.planner.count(query) else { return nil }
    return query.countInRange(of: try read { Int(try $0.integers(statement).first ?? 0) })
  }

  func finish() {
    guard !isFinished else { return }
    isFinished = true
    rowLookups = []
    let cursors = unfinishedCursors.values
    unfinishedCursors = [:]
    let isUsable: ()? = try? connection.use { session in
      for cursor in cursors { cursor.stop(session) }
      if session.isInTransaction { try session.execute("ROLLBACK") }
    }
    if isUsable == nil { connection.close() } else { store.pool.release(connection) }
  }

  /// Stops a fetch before its end, also after a failure: a statement in use would keep its state on the connection.
  func stop(_ cursor: SQLiteCursor) {
    try? connection.use { cursor.stop($0) }
    didEnd(cursor)
  }

  /// Forgets a fetch at its end.
  func didEnd(_ cursor: SQLiteCursor) { unfinishedCursors[ObjectIdentifier(cursor)] = nil }
}

/// Reads rows of a hierarchy by key.
///
/// Runs on the reader's thread, without the lock of the connection. One reader uses a connection, and one thread at a
/// time uses a reader; SQLite requires no more. A class, because a copy of a structure for each row would count a
/// reference for each field.
private final class RowLookup {
  let root: EntityDescription
  private let statement: SQLiteStatement
  private let decoder: SQLiteRowDecoder
  private let log: StatementLog
  private let text: String

  init(
    root: EntityDescription, statement: SQLiteStatement, decoder: SQLiteRowDecoder, log: StatementLog, text: String
  ) {
    self.root = root
    self.statement = statement
    self.decoder = decoder
    self.log = log
    self.text = text
  }

  func row(_ key: Int64) throws -> Row? {
    try log.timed(text) {
      defer { statement.reset() }
      try statement.bind(key, at: 1)
      return try statement.step() ? decoder.row(statement.handle) : nil
    }
  }
}
