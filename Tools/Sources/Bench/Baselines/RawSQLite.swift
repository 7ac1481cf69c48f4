import GRDBSQLite

/// A connection through SQLite's C API.
final class RawSQLite {
  let handle: OpaquePointer

  init(path: String, synchronous: String = "FULL") throws {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw BenchError("SQLite cannot open a database in the scratch directory.")
    }
    handle = opened
    try execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = \(synchronous)")
  }

  deinit { sqlite3_close_v2(handle) }

  func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error }
  }

  func prepare(_ sql: String) throws -> RawStatement { try RawStatement(sql, on: self) }

  /// The first column of the first row.
  func text(_ sql: String) throws -> String {
    let statement = try prepare(sql)
    return try statement.step() ? statement.text(0) : ""
  }

  /// Runs the body in one transaction.
  func transaction<T>(_ kind: String = "IMMEDIATE", _ body: () throws -> T) throws -> T {
    try execute("BEGIN \(kind)")
    let result = try body()
    try execute("COMMIT")
    return result
  }

  var error: BenchError { BenchError("SQLite: \(String(cString: sqlite3_errmsg(handle)))") }

  static var libraryVersion: String { String(cString: sqlite3_libversion()) }
}
