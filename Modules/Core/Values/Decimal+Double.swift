import Foundation

extension Decimal {
  /// The number that a double is written as with the fewest digits; `nil` when a decimal cannot hold it.
  init?(shortest number: Double) {
    guard number.isFinite, let decimal = Decimal(string: number.description), decimal.isFinite else { return nil }
    if decimal.isZero, number != 0 { return nil }
    self = decimal
  }

  /// The double closest to the number.
  var nearestDouble: Double? { Double(description) }

  /// The order of a decimal and a double: negative, zero or positive. The double stands for the number that it is
  /// written as with the fewest digits, so that 0.1 is 0.1 in both.
  func order(to number: Double) -> Int {
    if let other = Decimal(shortest: number) { return self < other ? -1 : (self == other ? 0 : 1) }
    // Too large or too close to zero for a decimal.
    let isBeyond = number.magnitude > 1
    if isBeyond { return number > 0 ? -1 : 1 }
    if isZero { return number > 0 ? -1 : 1 }
    return self > 0 ? 1 : -1
  }
}
