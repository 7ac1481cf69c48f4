/// Stored values or records that a store would have to drop to fit a model.
public struct DataLoss: Sendable, Hashable, CustomStringConvertible {
  /// The name of the store's table.
  public let table: String
  /// The name of the column whose values would be dropped; `nil` for whole records or links.
  public let column: String?
  /// The number of values, records or links that would be dropped.
  public let count: Int
  /// Why the model cannot keep them.
  public let reason: String

  public init(table: String, column: String?, count: Int, reason: String) {
    self.table = table
    self.column = column
    self.count = count
    self.reason = reason
  }

  public var description: String {
    let place = column.map { "column '\($0)' of table '\(table)'" } ?? "table '\(table)'"
    let unit = column == nil ? (count == 1 ? "record" : "records") : (count == 1 ? "value" : "values")
    return "\(reason) (\(place): \(count) \(unit))"
  }
}
