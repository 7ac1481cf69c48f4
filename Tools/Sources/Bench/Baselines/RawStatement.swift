import GRDBSQLite

/// A prepared statement of SQLite's C API.
final class RawStatement {
  let handle: OpaquePointer
  private let connection: RawSQLite

  init(_ sql: String, on connection: RawSQLite) throws {
    var prepared: OpaquePointer?
    guard
      sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil) == SQLITE_OK,
      let prepared
    else { throw connection.error }
    handle = prepared
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  /// Advances to the next row.
  ///
  /// - Returns: Whether a row exists.
  @inline(__always) func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw connection.error
    }
  }

  @inline(__always) func reset() { sqlite3_reset(handle) }

  @inline(__always) func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, value) }

  @inline(__always) func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  @inline(__always) func text(_ column: Int32) -> String {
    guard let bytes = sqlite3_column_text(handle, column) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
