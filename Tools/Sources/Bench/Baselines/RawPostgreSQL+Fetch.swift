import CBench
import Foundation

/// The three ways of fetching binary rows.
extension RawPostgreSQL {
  private static let query = "SELECT \(columns) FROM person"

  /// The whole result first, then its rows.
  func fetchWhole() throws -> [Person] {
    let result = PQexecParams(handle, Self.query, 0, nil, nil, nil, nil, 1)
    defer { PQclear(result) }
    try check(result)
    return (0..<PQntuples(result)).map { PostgreSQLTuple(result: result, row: $0).person() }
  }

  /// Row by row, as they arrive.
  func fetchSingleRows() throws -> [Person] {
    try require(PQsendQueryParams(handle, Self.query, 0, nil, nil, nil, nil, 1))
    try require(PQsetSingleRowMode(handle))
    var people: [Person] = []
    while let result = PQgetResult(handle) {
      defer { PQclear(result) }
      try check(result)
      guard PQresultStatus(result) == PGRES_SINGLE_TUPLE else { continue }
      people.append(PostgreSQLTuple(result: result, row: 0).person())
    }
    return people
  }

  /// By a COPY, row by row.
  func fetchByCopy() throws -> [Person] {
    var people: [Person] = []
    try forEachByCopy { people.append($0) }
    return people
  }

  /// By a COPY, row by row, without keeping the rows.
  func forEachByCopy(_ body: (Person) -> Void) throws {
    let started = PQexec(handle, "COPY (\(Self.query)) TO STDOUT (FORMAT binary)")
    defer { PQclear(started) }
    try check(started)
    var start = PersonDecoder.headerSize
    while true {
      var message: UnsafeMutablePointer<CChar>?
      let count = PQgetCopyData(handle, &message, 0)
      guard count > 0 else { break }
      defer { PQfreemem(message) }
      var decoder = PersonDecoder(UnsafeRawBufferPointer(start: message, count: Int(count)), at: start)
      if let person = decoder.person() { body(person) }
      start = 0
    }
    while let result = PQgetResult(handle) {
      defer { PQclear(result) }
      try check(result)
    }
  }
}

/// A row of a binary result.
struct PostgreSQLTuple {
  let result: OpaquePointer?
  let row: Int32

  @inline(__always) func person() -> Person {
    Person(
      id: integer(0), uuid: text(1), firstName: text(2), middleName: text(3), lastName: text(4), email: text(5),
      age: Int(integer(6)), score: Double(bitPattern: UInt64(bitPattern: integer(7))),
      created: Date(microseconds: integer(8) + Self.epoch), isActive: bytes(9)[0] != 0,
      notes: PQgetisnull(result, row, 10) == 1 ? nil : text(10))
  }

  /// PostgreSQL's microseconds begin in 2000.
  static let epoch: Int64 = 946_684_800_000_000

  @inline(__always) private func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
  }
  @inline(__always) private func integer(_ column: Int32) -> Int64 {
    Int64(bigEndian: bytes(column).loadUnaligned(as: Int64.self))
  }
  @inline(__always) private func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
