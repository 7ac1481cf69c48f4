import GRDBSQLite

/// The SQL function `coherence_shared_value(query, key)`: the only column of the only row that a query returns for a
/// key.
///
/// A statement runs the query once for each key, where SQLite would run a subquery once for each record. The query is a
/// constant with one parameter. It reads the tables in the state that the statement reads.
enum SharedValueFunction {
  static let name = "coherence_shared_value"

  /// Registers the function in a connection.
  static func register(in connection: OpaquePointer) -> CInt {
    sqlite3_create_function_v2(
      connection, name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nil,
      { context, _, arguments in SharedValueFunction.run(context, arguments) }, nil, nil, nil)
  }

  /// The prepared query of one call in the text of a running statement, and the query's values so far, by key.
  private final class Results {
    /// The greatest number of retained values.
    private static let limit = 100_000
    /// The greatest number of bytes in the retained texts and data.
    private static let byteLimit = 1 << 24
    private let query: OpaquePointer
    private var values: [Int64?: OpaquePointer] = [:]
    private var byteCount = 0

    init(_ query: OpaquePointer) { self.query = query }

    deinit {
      removeValues()
      sqlite3_finalize(query)
    }

    /// The value for a key; `nil` after a failure of the query, which is the last error of the connection.
    func value(for key: Int64?) -> OpaquePointer? {
      if let value = values[key] { return value }
      defer { sqlite3_reset(query) }
      let code = if let key { sqlite3_bind_int64(query, 1, key) } else { sqlite3_bind_null(query, 1) }
      guard code == SQLITE_OK, sqlite3_step(query) == SQLITE_ROW,
        let value = sqlite3_value_dup(sqlite3_column_value(query, 0))
      else { return nil }
      let size = Self.size(of: value)
      if values.count >= Self.limit || byteCount + size > Self.byteLimit { removeValues() }
      values[key] = value
      byteCount += size
      return value
    }

    private func removeValues() {
      for value in values.values { sqlite3_value_free(value) }
      values = [:]
      byteCount = 0
    }

    /// The number of bytes of a text or of data; zero for a number.
    private static func size(of value: OpaquePointer) -> Int {
      let type = sqlite3_value_type(value)
      return type == SQLITE_TEXT || type == SQLITE_BLOB ? Int(sqlite3_value_bytes(value)) : 0
    }
  }

  // Safety of `Unmanaged` and `assumingMemoryBound`: the auxiliary data of a call hold one strong reference. SQLite
  // calls the destructor, which releases the reference, at the end of the statement, on the thread of the connection.
  // The text of the query is read before it can change.

  /// The results of the call in the running statement, made at its first execution; `nil` for a query that cannot be
  /// prepared.
  private static func results(_ context: OpaquePointer, _ query: OpaquePointer?) -> Results? {
    if let data = sqlite3_get_auxdata(context, 0) {
      return Unmanaged<Results>.fromOpaque(data).takeUnretainedValue()
    }
    var statement: OpaquePointer?
    guard let text = sqlite3_value_text(query) else { return nil }
    let characters = UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self)
    guard sqlite3_prepare_v2(sqlite3_context_db_handle(context), characters, -1, &statement, nil) == SQLITE_OK,
      let statement
    else { return nil }
    let results = Results(statement)
    sqlite3_set_auxdata(
      context, 0, Unmanaged.passRetained(results).toOpaque(),
      { data in if let data { Unmanaged<Results>.fromOpaque(data).release() } })
    return results
  }

  /// Executes the function for one record.
  private static func run(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let context, let arguments else { return }
    let key: Int64? = sqlite3_value_type(arguments[1]) == SQLITE_NULL ? nil : sqlite3_value_int64(arguments[1])
    guard let value = results(context, arguments[0])?.value(for: key) else { return fail(context) }
    sqlite3_result_value(context, value)
  }

  /// Fails the statement with the error of the query.
  private static func fail(_ context: OpaquePointer) {
    let connection = sqlite3_context_db_handle(context)
    let code = sqlite3_errcode(connection)
    sqlite3_result_error(context, sqlite3_errmsg(connection), -1)
    let isFailure = code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE
    sqlite3_result_error_code(context, isFailure ? code : SQLITE_ERROR)
  }
}
