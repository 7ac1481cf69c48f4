import Foundation

extension Decimal {
  /// The shortest decimal number that converts to a double; `nil` when a decimal cannot represent it.
  init?(shortest number: Double) {
    guard number.isFinite, let decimal = Decimal(string: number.description), decimal.isFinite else { return nil }
    if decimal.isZero, number != 0 { return nil }
    self = decimal
  }

  /// The double closest to the number.
  var nearestDouble: Double? { Double(description) }

  /// The order of a decimal and a double: negative, zero or positive. The double is compared as its shortest decimal
  /// number, so that 0.1 equals 0.1. Not-a-number comes after all numbers.
  func order(to number: Double) -> Int {
    if number.isNaN { return -1 }
    if let other = Decimal(shortest: number) { return self < other ? -1 : (self == other ? 0 : 1) }
    // The double is too large or too close to zero for a decimal.
    let isBeyond = number.magnitude > 1
    if isBeyond { return number > 0 ? -1 : 1 }
    if isZero { return number > 0 ? -1 : 1 }
    return self > 0 ? 1 : -1
  }
}
