import CoherenceCore
import CoherenceSQL
import GRDBSQLite

extension SQLiteReader: Aggregating {
  func aggregate(_ query: AggregateQuery) throws -> StoreGroups? {
    guard let plan = try store.planner.groups(query) else { return nil }
    return try read { session in
      do {
        var values: [AttributeValue] = []
        try session.with(plan.statement) { statement in
          while try statement.step() { try Self.append(statement.handle, plan, to: &values) }
        }
        return plan.groups(values)
      } catch let failure as SQLiteFailure where failure.isSumOverflow {
        // SQLite fails also when a sum of integers is in range again after further records, and for sums of groups that
        // are not among the rows. Core's sums are exact.
        return nil
      }
    }
  }

  private static func append(_ statement: OpaquePointer, _ plan: GroupPlan, to values: inout [AttributeValue]) throws {
    for (index, column) in plan.columns.enumerated() {
      guard let cell = sqlite3_column_value(statement, CInt(index)) else {
        values.append(.null)
        continue
      }
      guard let value = value(of: cell, column) else { throw plan.wrongValue(at: index) }
      values.append(value)
    }
  }

  /// The value of a cell; `nil` when it is not of the column's type. A sum out of range is a floating-point number, or
  /// the text of one.
  private static func value(of cell: OpaquePointer, _ column: GroupPlan.Column) -> AttributeValue? {
    let type = sqlite3_value_type(cell)
    if let space = column.space {
      if type == SQLITE_NULL { return .null }
      return type == SQLITE_INTEGER ? .reference(ManagedObjectID(space: space, key: sqlite3_value_int64(cell))) : nil
    }
    if column.isSum, type == SQLITE_FLOAT { return .double(sqlite3_value_double(cell)) }
    if column.isSum, column.storage == .decimal, let number = roundedDecimal(of: cell) { return .double(number) }
    return SQLiteRowDecoder.value(of: cell, as: column.storage)
  }

  /// The number of a sum of decimals out of range; `nil` for another cell.
  private static func roundedDecimal(of cell: OpaquePointer) -> Double? {
    guard sqlite3_value_type(cell) == SQLITE_TEXT, let start = sqlite3_value_text(cell) else { return nil }
    return RoundedDecimal.number(in: UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(cell))))
  }
}
