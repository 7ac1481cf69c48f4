/// Stored values or records that a store would have to drop to fit a model.
public struct DataLoss: Sendable, Hashable, CustomStringConvertible {
  /// The name of the store's table.
  public let table: String
  /// The name of the column whose values would be dropped; `nil` for whole records or links.
  public let column: String?
  /// The number of values, records or links that would be dropped.
  public let count: Int
  /// The reason why the model cannot keep the values, as a sentence without its full stop.
  public let reason: String

  /// Makes a description of a loss, for stores.
  public init(table: String, column: String?, count: Int, reason: String) {
    self.table = table
    self.column = column
    self.count = count
    self.reason = reason
  }

  /// The reason, the column or the table, and the number, without values.
  public var description: String {
    let subject = column.map { "column '\($0)' of table '\(table)'" } ?? "table '\(table)'"
    let unit = column == nil ? (count == 1 ? "record" : "records") : (count == 1 ? "value" : "values")
    return "\(reason) (\(subject): \(count) \(unit))"
  }
}
