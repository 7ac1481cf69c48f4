import CBench

/// A connection through libpq.
final class RawPostgreSQL {
  let handle: OpaquePointer
  static let table = """
    CREATE TABLE person (
      id bigint PRIMARY KEY, uuid text COLLATE "C", "firstName" text COLLATE "C", "middleName" text COLLATE "C",
      "lastName" text COLLATE "C", email text COLLATE "C", age bigint, score double precision, created timestamptz,
      "isActive" boolean, notes text COLLATE "C")
    """
  static let columns =
    #"id, uuid, "firstName", "middleName", "lastName", email, age, score, created, "isActive", notes"#

  /// Connects, and selects a schema.
  init(url: String, schema: String? = nil) throws {
    guard let connection = PQconnectdb(url) else { throw BenchError("There is no memory for a connection.") }
    handle = connection
    guard PQstatus(handle) == CONNECTION_OK else {
      throw BenchError("The PostgreSQL server of --postgres cannot be reached or refuses the connection.")
    }
    try execute("SET client_min_messages = warning")
    if let schema { try execute("SET search_path = \(schema)") }
  }

  deinit { PQfinish(handle) }

  func execute(_ sql: String) throws {
    let result = PQexec(handle, sql)
    defer { PQclear(result) }
    try check(result)
  }

  func text(_ sql: String) throws -> String {
    let result = PQexec(handle, sql)
    defer { PQclear(result) }
    try check(result)
    return PQgetvalue(result, 0, 0).map { String(cString: $0) } ?? ""
  }

  func prepare(_ name: String, _ sql: String) throws {
    let result = PQprepare(handle, name, sql, 0, nil)
    defer { PQclear(result) }
    try check(result)
  }

  /// Throws when a result is an error.
  func check(_ result: OpaquePointer?) throws {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_PIPELINE_SYNC, PGRES_COPY_IN, PGRES_COPY_OUT:
      return
    default: throw error
    }
  }

  /// Throws when a call has failed to queue its statement or data.
  func require(_ outcome: Int32) throws {
    guard outcome > 0 else { throw error }
  }

  var error: BenchError { BenchError("PostgreSQL: \(String(cString: PQerrorMessage(handle)))") }

  static var libraryVersion: String {
    let version = Int(PQlibVersion())
    return "\(version / 10_000).\(version % 10_000)"
  }
}
