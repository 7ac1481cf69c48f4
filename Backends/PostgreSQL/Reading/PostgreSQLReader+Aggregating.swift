import CoherenceCore
import CoherenceSQL

extension PostgreSQLReader: Aggregating {
  func aggregate(_ query: AggregateQuery) throws -> StoreGroups? {
    guard let plan = try store.planner.groups(query) else { return nil }
    let statement = plan.statement.rendered(by: PostgreSQLDialect())
    let result: PostgreSQLResult? = try read { connection in
      do {
        return try connection.timed([statement.text]) { try receive(statement, connection) }
      } catch let error as CoherenceError where error.serverFailure?.isOfData == true {
        // The server fails for a sum out of the range of its type, also of a group that is not among the rows. Core
        // computes such sums. A sum of floating-point numbers out of range is infinite.
        try connection.rollBack(to: Self.savepoint)
        return nil
      }
    }
    return try result.map { plan.groups(try Self.values($0, plan)) }
  }

  private func receive(_ statement: SQLStatement, _ connection: PostgreSQLConnection) throws -> PostgreSQLResult {
    try connection.recovering {
      try send(statement, afterSavepoint: true, connection)
      return try connection.receiveLast()
    }
  }

  /// The values of a result, row by row.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt`` for a value that does not have its column's type.
  private static func values(_ result: PostgreSQLResult, _ plan: GroupPlan) throws -> [AttributeValue] {
    var values: [AttributeValue] = []
    values.reserveCapacity(result.rowCount * plan.columns.count)
    let areNumeric = plan.columns.indices.map { result.type($0) == PostgreSQLBinary.type(of: .decimal) }
    for row in 0..<result.rowCount {
      for (index, column) in plan.columns.enumerated() {
        guard let bytes = result.bytes(row, index), let start = bytes.baseAddress else {
          values.append(.null)
          continue
        }
        guard let value = value(start, bytes.count, column, isNumeric: areNumeric[index]) else {
          throw plan.wrongValue(at: index)
        }
        values.append(value)
      }
    }
    return values
  }

  /// Reads a value of a column.
  ///
  /// - Parameter isNumeric: Whether the server returns a `numeric`, as it does for sums of 64-bit integers.
  private static func value(
    _ bytes: UnsafeRawPointer, _ count: Int, _ column: GroupPlan.Column, isNumeric: Bool
  ) -> AttributeValue? {
    if let space = column.space {
      return count == 8 ? .reference(ManagedObjectID(space: space, key: bytes.bigEndian(Int64.self))) : nil
    }
    guard column.isSum, isNumeric else { return PostgreSQLBinary.value(bytes, count: count, as: column.storage) }
    if column.storage == .decimal { return PostgreSQLBinary.decimalSum(bytes, count: count) }
    return PostgreSQLBinary.integer(bytes, count: count).map { sum in
      Int64(exactly: sum).map(AttributeValue.int) ?? .double(Double(sum))
    }
  }
}
