import CoherenceCore
import CoherenceSQL
import Foundation
import GRDBSQLite
import Logging

/// A connection to a store's file, with the statements prepared on it.
final class SQLiteConnection: @unchecked Sendable {
  // Sendable: mutable state is used with `lock` only; `logIndex` is set before other threads have the connection.

  /// Held while a block uses the connection, which SQLite does not protect itself.
  private let lock = Lock()
  /// SQLite's connection; `nil` after it was closed.
  private var handle: OpaquePointer?
  /// The waits of the connection for other processes.
  fileprivate let busyWait: SQLiteBusyWait
  private let errors: SQLiteErrorTranslator
  private let logger: Logger
  /// The state of a file that no program changes, when the connection was opened; `nil` for any other file.
  private let fixedState: FileState?
  /// The files that the connection has open.
  fileprivate let files: SQLiteFiles
  /// The prepared statements that no block uses, by text.
  private var idleStatements: [String: SQLiteStatement] = [:]
  /// The statements that read a row by key, by hierarchy. Each use runs the statement to its end.
  private var rowStatements: [ObjectIdentifier: SQLiteStatement] = [:]

  /// The number of statements that blocks have used, row statements left out.
  private var useCount = 0

  private static let idleLimit = 128

  /// The index of the connection's log; `nil` before it was found, or without a log.
  private(set) var logIndex: SQLiteLogIndex?

  /// The use of the connection, which decides how SQLite opens the file.
  enum Role {
    /// The connection that writes and checkpoints.
    case writer
    /// A connection for reading only.
    case reader
    /// A connection for reading a file that no program changes. Makes no file beside the database.
    case readerOfFixedFile

    var isReader: Bool { self != .writer }
  }

  /// Opens a connection. The file must exist.
  ///
  /// - Parameter files: The files of the store, when other connections have them open.
  init(path: String, role: Role, busyTimeout: TimeInterval, logger: Logger, files: SQLiteFiles? = nil) throws {
    let files = files ?? SQLiteFiles(path: path)
    self.files = files
    errors = SQLiteErrorTranslator(path: path, files: files)
    self.logger = logger
    fixedState = role == .readerOfFixedFile ? FileState(path: path) : nil
    busyWait = SQLiteBusyWait(limit: .seconds(busyTimeout))
    do {
      handle = try SQLiteOpening(role: role, busyWait: busyWait).open(path)
    } catch {
      throw errors.translated(error)
    }
  }

  deinit { FileMappings.unmapping { sqlite3_close_v2(handle) } }

  /// Whether the connection sees the present file. Another program may have changed a file that was opened as fixed,
  /// and SQLite would take pages of the former file for present ones.
  var isUpToDate: Bool { fixedState == nil || (fixedState == FileState(path: files.path) && !files.hasLog) }

  /// Finds the index of the log. To be called before other threads have the connection.
  func findLogIndex() {
    guard fixedState == nil else { return }
    logIndex = try? use { session -> SQLiteLogIndex? in
      // The query makes SQLite open the log, if the file has one.
      guard try session.string("PRAGMA journal_mode") == "wal" else { return nil }
      return session.logIndex
    }
  }

  // MARK: Use

  /// Runs a block with the connection to itself. Not re-entrant.
  ///
  /// - Throws: The errors of the block; failures of SQLite as errors of the framework.
  func use<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
    do {
      return try lock.withLock {
        guard let handle else { throw SQLiteFailure(code: SQLITE_MISUSE, message: "the connection is closed") }
        return try body(SQLiteSession(handle: handle, connection: self, logger: logger))
      }
    } catch {
      throw errors.translated(error)
    }
  }

  /// Ends all work and closes the connection. It is not used afterwards.
  func close() {
    try? use { session in session.rollBack() }
    lock.withLock {
      idleStatements = [:]
      rowStatements = [:]
      // SQLite keeps the connection until its last statement ends, should one be in use.
      if !isCloseHarmful { FileMappings.unmapping { sqlite3_close_v2(handle) } }
      handle = nil
    }
  }

  /// Whether another process has begun another log in the place of a deleted one. The close of the last connection
  /// would write the deleted log over the pages that the other process reads, and delete the other log. The connection
  /// then stays open until the end of this process, which writes nothing.
  private var isCloseHarmful: Bool { files.missingLog != nil && files.hasOtherLog }

  // MARK: Statements, within `use`

  /// Takes a prepared statement of a text out of the idle ones, or prepares it.
  fileprivate func take(_ text: String, _ handle: OpaquePointer) throws -> SQLiteStatement {
    try idleStatements.removeValue(forKey: text) ?? SQLiteStatement(text, on: handle)
  }

  /// Resets a statement and adds it to the idle ones.
  fileprivate func give(back statement: SQLiteStatement) {
    statement.reset()
    useCount += 1
    statement.lastUse = useCount
    if idleStatements.count >= Self.idleLimit { releaseOldStatements() }
    idleStatements[statement.text] = statement
  }

  /// Releases the quarter of the idle statements whose last uses are the oldest, so that few new statements cause a
  /// search for old ones.
  private func releaseOldStatements() {
    let oldestKept = idleStatements.values.map(\.lastUse).sorted()[Self.idleLimit / 4]
    idleStatements = idleStatements.filter { $0.value.lastUse >= oldestKept }
  }

  fileprivate func rowStatement(_ root: EntityDescription, _ text: String, _ handle: OpaquePointer) throws
    -> SQLiteStatement
  {
    // Stores of one file share the writing connection. Another store may have had another statement for the hierarchy,
    // because a program with another model has extended the file in between.
    if let statement = rowStatements[ObjectIdentifier(root)], statement.text == text { return statement }
    let statement = try SQLiteStatement(text, on: handle)
    rowStatements[ObjectIdentifier(root)] = statement
    return statement
  }
}

/// A connection during a block with exclusive access to it.
struct SQLiteSession {
  fileprivate let handle: OpaquePointer
  fileprivate let connection: SQLiteConnection
  fileprivate let logger: Logger

  /// Whether a transaction is open, which SQLite itself may have ended after an error.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Whether the transaction has read, and therefore sees one state.
  var isReading: Bool { sqlite3_txn_state(handle, "main") != SQLITE_TXN_NONE }

  /// The waits for other processes.
  var busyWait: SQLiteBusyWait { connection.busyWait }

  /// The index of the log, which the connection has open.
  var logIndex: SQLiteLogIndex? { SQLiteLogIndex(of: handle) }

  /// Returns a prepared statement of a text. The caller returns the statement to the session afterwards.
  func take(_ text: String) throws -> SQLiteStatement { try connection.take(text, handle) }
  /// Returns a statement of ``take(_:)``, so that later statements of its text use it again.
  func give(back statement: SQLiteStatement) { connection.give(back: statement) }

  /// The statement that reads a row of a hierarchy.
  func rowStatement(_ root: EntityDescription, _ text: String) throws -> SQLiteStatement {
    try connection.rowStatement(root, text, handle)
  }

  /// Runs a statement with a block that steps through its rows.
  func with<T>(_ statement: SQLStatement, _ body: (SQLiteStatement) throws -> T) throws -> T {
    let prepared = try take(statement.text)
    defer { give(back: prepared) }
    try prepared.bind(statement.bindings)
    return try logged(statement.text) { try body(prepared) }
  }

  func with<T>(_ fragment: SQLFragment, _ body: (SQLiteStatement) throws -> T) throws -> T {
    try with(fragment.rendered(by: SQLiteDialect()), body)
  }

  /// Runs a statement for its effect.
  func run(_ fragment: SQLFragment) throws { try with(fragment) { while try $0.step() {} } }

  /// Runs SQL without parameters for its effect.
  func execute(_ text: String) throws { try with(SQLStatement(text: text)) { while try $0.step() {} } }

  /// The integers in the first column of a statement's rows.
  func integers(_ fragment: SQLFragment) throws -> [Int64] {
    try with(fragment) { statement in
      var values: [Int64] = []
      while try statement.step() { values.append(statement.integer(0)) }
      return values
    }
  }

  /// The text in the first column of a statement's first row.
  func string(_ fragment: SQLFragment) throws -> String? {
    try with(fragment) { try $0.step() ? $0.string(0) : nil }
  }

  /// Runs a block in the only writing transaction of the file. An open exclusive transaction is committed with the
  /// block; if the block fails, it stays open.
  func inWriteTransaction<T>(_ body: () throws -> T) throws -> T {
    if isInTransaction { return try inOpenTransaction(body) }
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Rolls back the open transaction, if any: after some failures SQLite has rolled back already.
  func rollBack() { if isInTransaction { try? execute("ROLLBACK") } }

  /// Runs a block in the open transaction, behind a savepoint, and commits the transaction. If the block fails, the
  /// transaction is rolled back to the savepoint and stays open.
  private func inOpenTransaction<T>(_ body: () throws -> T) throws -> T {
    try execute("SAVEPOINT \"save\"")
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      if isInTransaction {
        try? execute("ROLLBACK TO \"save\"")
        try? execute("RELEASE \"save\"")
      }
      throw error
    }
  }

  /// Commits. After a failure of the disk, searches the log for the commit, which may be there nevertheless.
  private func commit() throws {
    try checkIsInPlace()
    do {
      try execute("COMMIT")
    } catch var failure as SQLiteFailure where failure.mayHaveCommitted {
      rollBack()
      failure.isOutcomeUnknown = !undoFailedCommit()
      throw failure
    }
  }

  /// Overwrites the transaction whose commit failed in the log, so that no process finds it later.
  ///
  /// If the failed write was a part of the commit's record, the record is incomplete, and no process finds it. If only
  /// a later write failed, the record is complete: this process continues without the transaction, but a process that
  /// opens the file after a crash would find it. So the function overwrites the record with the shortest possible
  /// transaction.
  ///
  /// - Returns: Whether it is certain that no process will find the transaction.
  private func undoFailedCommit() -> Bool {
    do {
      try uninterrupted { try execute("BEGIN IMMEDIATE") }
      defer { rollBack() }
      if try !SQLiteLog(of: handle, path: connection.files.path).hasUnseenCommit { return true }
      try rewriteUserVersion()
      try execute("COMMIT")
      return true
    } catch {
      return false
    }
  }

  /// Writes the user version that the file has: the shortest change that other connections notice.
  func rewriteUserVersion() throws {
    let version = try integers("PRAGMA user_version").first ?? 0
    try execute("PRAGMA user_version = \(version)")
  }

  /// A number that changes with each commit of another connection, and with no commit of this connection.
  func dataVersion() throws -> Int64? { try integers("PRAGMA data_version").first }

  /// Refuses a file that was moved or deleted while it was open: its changes would be lost with the last open
  /// connection. With a log, SQLite does not check this itself.
  private func checkIsInPlace() throws {
    var hasMoved: CInt = 0
    let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    if code == SQLITE_OK, hasMoved != 0 {
      throw SQLiteFailure(code: SQLiteCode.moved, message: "the file was moved or deleted")
    }
    guard let path = connection.files.missingLog else { return }
    recoverDeletedLog()
    throw SQLiteFailure(code: SQLiteCode.moved, message: "'\(path)' was deleted or replaced")
  }

  /// Records the identities of the connection's files. Called in a transaction, when SQLite has opened the files.
  func noteFiles() { connection.files.note() }

  /// Writes the content of a deleted log into the database, unless another process has begun another log.
  func recoverDeletedLog() {
    rollBack()
    guard !connection.files.hasOtherLog else { return }
    _ = try? integers("PRAGMA wal_checkpoint(PASSIVE)")
  }

  /// Runs a block in a transaction that sees one state: in the open transaction, if any.
  func inReadTransaction<T>(_ body: () throws -> T) throws -> T {
    if isInTransaction { return try body() }
    try execute("BEGIN DEFERRED")
    defer { rollBack() }
    return try body()
  }

  /// Writes a statement and its time to the log, without the values of its parameters.
  func logged<T>(_ text: @autoclosure () -> String, _ body: () throws -> T) rethrows -> T {
    try StatementLog(logger).timed(text(), body)
  }
}
