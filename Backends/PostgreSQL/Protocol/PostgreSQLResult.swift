import CLibPQ
import CoherenceCore
import Foundation

/// The result of a statement, or one row of it.
final class PostgreSQLResult {
  let raw: OpaquePointer

  init(_ raw: OpaquePointer) { self.raw = raw }
  deinit { PQclear(raw) }

  /// Whether this is one row of a result that arrives row by row.
  var isRow: Bool { PQresultStatus(raw) == PGRES_SINGLE_TUPLE }
  var rowCount: Int { Int(PQntuples(raw)) }
  var columnCount: Int { Int(PQnfields(raw)) }
  /// The number of rows that the statement inserted, updated or deleted.
  var affectedCount: Int {
    PQcmdTuples(raw).map { atol($0) } ?? 0
  }
  /// The tag of the completed command, such as `COMMIT`.
  var command: String { PQcmdStatus(raw).map { String(cString: $0) } ?? "" }

  /// The bytes of a field; `nil` for null.
  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
    let length = PQgetlength(raw, Int32(row), Int32(column))
    if length == 0, PQgetisnull(raw, Int32(row), Int32(column)) == 1 { return nil }
    return UnsafeRawBufferPointer(start: PQgetvalue(raw, Int32(row), Int32(column)), count: Int(length))
  }

  /// The server's type of a column's values.
  func type(_ column: Int) -> Oid { PQftype(raw, Int32(column)) }

  /// A `bigint`; `nil` for null and for anything else.
  func int(_ row: Int, _ column: Int) -> Int64? {
    PostgreSQLResultRow(result: self, index: row).int(column)
  }

  /// The integers in the first column, without missing ones.
  var integers: [Int64] { (0..<rowCount).compactMap { int($0, 0) } }

  /// A text; `nil` for null.
  func text(_ row: Int, _ column: Int) -> String? { bytes(row, column).map { String(decoding: $0, as: UTF8.self) } }
}
