import Foundation

extension Decimal {
  /// The shortest decimal number that converts to a double; `nil` when a decimal cannot represent it.
  init?(shortest number: Double) {
    let decimal = number.magnitude < 1e128 ? Decimal(string: number.description) : Self.large(number)
    guard number.isFinite, let decimal, decimal.isFinite else { return nil }
    if decimal.isZero, number != 0 { return nil }
    self = decimal
  }

  /// The shortest decimal number that converts to a double of at least 10^128. Foundation reads no power of ten above
  /// 127, although a decimal can have zeros before such a power.
  private static func large(_ number: Double) -> Decimal? {
    // The description has the form 1.25e+130.
    let parts = number.magnitude.description.split(separator: "e")
    guard parts.count == 2, let power = Int(parts[1]) else { return nil }
    let digits = parts[0].utf8.filter { $0 != UInt8(ascii: ".") }.map { $0 - 0x30 }
    return rounded(digits, power - (digits.count - 1), isNegative: number < 0)
  }

  /// The double closest to the number. `NSDecimalNumber` rounds after each power of ten, and may return another double.
  var nearestDouble: Double { Double(description) ?? .nan }

  /// The order of a decimal and a double: negative, zero or positive. The double is compared as its shortest decimal
  /// number, so that the decimal 0.1 equals the double 0.1. Not-a-number comes after all numbers.
  func order(to number: Double) -> Int {
    if number.isNaN { return -1 }
    if let other = Decimal(shortest: number) { return self < other ? -1 : (self == other ? 0 : 1) }
    // The double is infinite, too large for a decimal, or has digits too close to zero. A decimal of 38 digits converts
    // to another double then, which has the order of the decimal.
    let nearest = nearestDouble
    return nearest < number ? -1 : (nearest == number ? 0 : 1)
  }
}
