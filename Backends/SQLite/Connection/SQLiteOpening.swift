import CoherenceCore
import Foundation
import GRDBSQLite

/// The settings with which connections are opened.
struct SQLiteOpening {
  let role: SQLiteConnection.Role
  /// The connection's waits for other connections.
  let busyWait: SQLiteBusyWait

  /// Opens a connection to a file, which must exist.
  ///
  /// - Returns: SQLite's connection, which the caller closes.
  /// - Throws: ``SQLiteFailure``.
  func open(_ path: String) throws -> OpaquePointer {
    var opened: OpaquePointer?
    let result = sqlite3_open_v2(name(of: path), &opened, flags, nil)
    guard let handle = opened else { throw SQLiteFailure(code: result, message: "there is no memory for a connection") }
    do {
      sqlite3_extended_result_codes(handle, 1)
      guard result == SQLITE_OK else { throw SQLiteFailure(handle) }
      try configure(handle)
      return handle
    } catch {
      FileMappings.unmapping { sqlite3_close_v2(handle) }
      throw error
    }
  }

  private var flags: CInt {
    // A connection is used by one thread at a time, so that SQLite needs no locks of its own.
    switch role {
    case .writer: SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE
    case .reader: SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY
    case .readerOfFixedFile: SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    }
  }

  private func name(of path: String) -> String {
    guard role == .readerOfFixedFile else { return path }
    return URL(fileURLWithPath: path).absoluteString + "?immutable=1"
  }

  private func configure(_ handle: OpaquePointer) throws {
    busyWait.install(in: handle)
    _disableDoubleQuotedStringLiterals(handle)
    #if os(Linux)
      // Apple's SQLite cannot load extensions at all.
      sqlite3_enable_load_extension(handle, 0)
    #endif
    try addFunctions(to: handle)
    if role.isReader { stopWhenCancelled(handle) }
    try execute("PRAGMA foreign_keys = ON", handle)
    try execute("PRAGMA trusted_schema = OFF", handle)
    // The cache also limits the memory of a sort, and SQLite sorts 2 to 4 MiB, which the cache of a processor holds, at
    // twice the speed of 16 MiB. The kernel keeps the other pages of the file.
    if role.isReader { try execute("PRAGMA cache_size = -4000", handle) }
    // SQLite reads the file with the first query, which fails for a file that is no database.
    try execute("SELECT 1 FROM sqlite_schema LIMIT 1", handle)
  }

  private func addFunctions(to handle: OpaquePointer) throws {
    guard DecimalCollation.register(in: handle) == SQLITE_OK, FoldFunction.register(in: handle) == SQLITE_OK,
      ArithmeticFunction.register(in: handle) == SQLITE_OK,
      SumFunction.register(in: handle) == SQLITE_OK, SharedValueFunction.register(in: handle) == SQLITE_OK
    else { throw SQLiteFailure(handle) }
  }

  /// Has SQLite end a statement when the task that runs it is cancelled.
  ///
  /// SQLite calls the handler on the thread of the statement, after every 20,000 of its instructions, about every two
  /// milliseconds. An interrupt from another thread could hit a later statement.
  private func stopWhenCancelled(_ handle: OpaquePointer) {
    sqlite3_progress_handler(handle, 20_000, { _ in Task.isCancelled ? 1 : 0 }, nil)
  }

  private func execute(_ text: String, _ handle: OpaquePointer) throws {
    guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw SQLiteFailure(handle) }
  }
}
