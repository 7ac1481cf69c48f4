import CLibPQ

/// The fields of one row, of a result or of a COPY.
protocol PostgreSQLRow {
  /// The bytes of a field; `nil` for null.
  func bytes(_ column: Int) -> UnsafeRawBufferPointer?
}

extension PostgreSQLRow {
  /// A `bigint`; `nil` for null and for anything else.
  @inline(__always)
  func int(_ column: Int) -> Int64? {
    guard let bytes = bytes(column), bytes.count == 8 else { return nil }
    return bytes.baseAddress.map { $0.bigEndian(Int64.self) }
  }
}

/// A row of a result.
struct PostgreSQLResultRow: PostgreSQLRow {
  let result: PostgreSQLResult
  let index: Int

  @inline(__always)
  func bytes(_ column: Int) -> UnsafeRawBufferPointer? { result.bytes(index, column) }
}
