/// The place of missing values in an order.
///
/// SQLite reads an order with any placement from the index of the first sort key. PostgreSQL reads ``smallest`` from an
/// index, and so ``first`` in ascending and ``last`` in descending order; for the other two, the server sorts all
/// matching records.
public enum MissingValuePlacement: Sendable, Hashable {
  /// Missing values are smaller than all other values: first in ascending order, last in descending order.
  case smallest
  /// Missing values come first, in ascending and in descending order.
  case first
  /// Missing values come last, in ascending and in descending order.
  case last
}

extension MissingValuePlacement {
  /// The order of two values in the direction of a criterion: negative, zero or positive.
  ///
  /// - Parameter isAscending: Whether smaller values come first.
  func order(_ a: AttributeValue, _ b: AttributeValue, isAscending: Bool) -> Int {
    if self != .smallest, a.isNull != b.isNull { return a.isNull == (self == .first) ? -1 : 1 }
    let order = a.order(to: b)
    return isAscending ? order : -order
  }

  /// The placement as the end of a criterion's text.
  var suffix: String {
    switch self {
    case .smallest: ""
    case .first: " NULLS FIRST"
    case .last: " NULLS LAST"
    }
  }
}
