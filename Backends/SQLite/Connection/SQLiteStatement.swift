import CoherenceCore
import CoherenceSQL
import Foundation
import GRDBSQLite

/// A prepared statement, used by the thread that uses its connection.
final class SQLiteStatement {
  let text: String
  /// The engine's statement, which the release of this object finalizes.
  let handle: OpaquePointer
  /// The number of the statement's last use among the uses of statements of the connection.
  var lastUse = 0
  private let connection: OpaquePointer
  /// The memory of the texts that a run uses; see ``bindOnce(_:at:)``.
  // Safety of `@exclusivity(unchecked)`: one thread at a time uses a connection and its statements.
  @exclusivity(unchecked) private var texts = TextArena()

  /// Prepares a statement.
  ///
  /// - Throws: ``SQLiteFailure`` for a text that SQLite refuses, and for a text without a statement.
  init(_ text: String, on connection: OpaquePointer) throws {
    self.text = text
    self.connection = connection
    var prepared: OpaquePointer?
    let result = sqlite3_prepare_v3(connection, text, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard result == SQLITE_OK else { throw SQLiteFailure(connection) }
    guard let prepared else { throw SQLiteFailure(code: SQLITE_MISUSE, message: "the statement is empty") }
    handle = prepared
  }

  // With its last statement, SQLite closes a connection that was closed before, and unmaps the files of the connection.
  deinit { FileMappings.unmapping { sqlite3_finalize(handle) } }

  /// Moves to the next row; returns `false` at the end. The caller resets the statement at last, also after an error.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw SQLiteFailure(connection)
    }
  }

  /// Runs a statement without rows, and makes it ready for the next run, also after an error. Parameters keep their
  /// values.
  func run() throws {
    let result = sqlite3_step(handle)
    guard result == SQLITE_DONE || result == SQLITE_ROW else {
      let failure = SQLiteFailure(connection)
      sqlite3_reset(handle)
      throw failure
    }
    sqlite3_reset(handle)
  }

  /// Makes the statement ready for the next run. Parameters keep their values.
  func reset() { sqlite3_reset(handle) }

  /// The number of rows that the connection's last insert, update or delete changed. To be read directly after a run
  /// of such a statement.
  var changes: CInt { sqlite3_changes(connection) }

  /// The integer in a column of the present row; zero for null.
  func integer(_ column: CInt) -> Int64 { sqlite3_column_int64(handle, column) }
  /// The integer in a column of the present row; `nil` for null.
  func optionalInteger(_ column: CInt) -> Int64? {
    sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, column)
  }
  /// The text in a column of the present row; empty for null.
  func string(_ column: CInt) -> String { sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "" }
}

// MARK: - Parameters

extension SQLiteStatement {
  /// Clears the memory for texts. To be called before ``bindOnce(_:at:)`` binds the first parameter of a run, when the
  /// run before is reset.
  @inline(__always) func beginParameters() { texts.clear() }

  /// Binds a parameter for one run, without a copy of texts by SQLite. The value lasts until ``beginParameters()``.
  @inline(__always)
  func bindOnce(_ value: AttributeValue, at index: CInt) throws {
    guard case .string(let text) = value, let copy = texts.add(text) else { return try bind(value, at: index) }
    // A `nil` destructor is SQLITE_STATIC.
    try check(sqlite3_bind_text(handle, index, copy.start, CInt(copy.count), nil))
  }

  /// Binds the parameters to values, in order. The values last until the next binding.
  func bind(_ bindings: [SQLBinding]) throws {
    for (index, binding) in bindings.enumerated() {
      // The dialect of SQLite has no arrays.
      guard case .value(let value, _) = binding else { continue }
      try bind(value, at: CInt(index + 1))
    }
  }

  @inline(__always)
  func bind(_ value: AttributeValue, at index: CInt) throws {
    switch value {
    case .null: try check(sqlite3_bind_null(handle, index))
    case .bool(let value): try check(sqlite3_bind_int64(handle, index, value ? 1 : 0))
    case .int(let value): try check(sqlite3_bind_int64(handle, index, value))
    case .double(let value): try check(sqlite3_bind_double(handle, index, value))
    case .date(let value): try check(sqlite3_bind_int64(handle, index, value.microseconds))
    case .reference(let id): try check(sqlite3_bind_int64(handle, index, id.key))
    case .string(let value): try bind(value, at: index)
    case .data(let value): try value.withUnsafeBytes { try bind($0, at: index) }
    case .uuid(let value): try withUnsafeBytes(of: value.uuid) { try bind($0, at: index) }
    case .decimal(let value): try bind(value.description, at: index)
    }
  }

  @inline(__always)
  func bind(_ value: Int64, at index: CInt) throws { try check(sqlite3_bind_int64(handle, index, value)) }

  func bind(_ text: String, at index: CInt) throws {
    var text = text
    try text.withUTF8 { bytes in
      let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
      // A text without an address would become null.
      let result =
        bytes.isEmpty
        ? sqlite3_bind_text(handle, index, "", 0, SQLiteDestructor.copying)
        : sqlite3_bind_text64(handle, index, start, UInt64(bytes.count), SQLiteDestructor.copying, UInt8(SQLITE_UTF8))
      try check(result)
    }
  }

  private func bind(_ bytes: UnsafeRawBufferPointer, at index: CInt) throws {
    // Data without an address would become null.
    let result =
      bytes.isEmpty
      ? sqlite3_bind_zeroblob(handle, index, 0)
      : sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), SQLiteDestructor.copying)
    try check(result)
  }

  @inline(__always)
  private func check(_ result: CInt) throws {
    if result != SQLITE_OK { throw SQLiteFailure(connection) }
  }
}
