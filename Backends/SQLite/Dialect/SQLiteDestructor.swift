import GRDBSQLite

/// The destructor that has SQLite copy a text or data at once.
enum SQLiteDestructor {
  // Safety of `unsafeBitCast`: SQLite compares this address, SQLITE_TRANSIENT, and never calls it.
  static let copying = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
