import Foundation

/// Calculations with decimals of 38 digits, whose results are rounded half away from zero. The result is `nil` when it
/// is out of the range of decimals, and for an operand that is not a number.
///
/// Foundation calculates only where the result has few digits: it cuts digits off elsewhere, and the first wrong digit
/// of a quotient may be the second one.
extension Decimal {
  /// The sum of two decimals.
  static func sum(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN { return nil }
    if left.isShort, right.isShort, abs(left.exponent - right.exponent) <= shortDigitCount { return left + right }
    let sum = DecimalSum()
    sum.add(left)
    sum.add(right)
    return sum.rounded
  }

  /// The difference of two decimals.
  static func difference(_ left: Decimal, _ right: Decimal) -> Decimal? {
    right.isNaN ? nil : sum(left, Decimal(sign: .minus, exponent: 0, significand: right))
  }

  /// The quotient of two decimals; `nil` for the divisor zero too. A quotient closer to zero than every other decimal
  /// is zero.
  static func quotient(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN || right.isZero { return nil }
    if left.isZero { return 0 }
    guard let dividend = left.digits, let divisor = right.digits else { return nil }
    var (whole, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
    var digits = whole == 0 ? [] : String(whole).utf8.map { $0 - 0x30 }
    var exponent = left.exponent - right.exponent
    // Long division. The digit after the last one of a decimal decides the rounding.
    while rest != 0, digits.count <= DecimalSum.greatestDigitCount {
      (whole, rest) = divisor.dividingFullWidth(rest.multipliedFullWidth(by: 10))
      if whole != 0 || !digits.isEmpty { digits.append(UInt8(whole)) }
      exponent -= 1
    }
    return rounded(digits, exponent, isNegative: left.isSignMinus != right.isSignMinus)
  }

  /// The product of two decimals. A product closer to zero than every other decimal is zero.
  static func product(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN { return nil }
    if left.isZero || right.isZero { return 0 }
    guard let first = left.digits, let second = right.digits else { return nil }
    var (high, low) = first.multipliedFullWidth(by: second)
    var digits: [UInt8] = []
    while high != 0 || low != 0 {
      let (quotient, rest) = high.quotientAndRemainder(dividingBy: 10)
      let (lower, digit) = UInt128(10).dividingFullWidth((rest, low))
      (high, low) = (quotient, lower)
      digits.append(UInt8(digit))
    }
    return rounded(
      digits.reversed(), left.exponent + right.exponent, isNegative: left.isSignMinus != right.isSignMinus)
  }

  /// The number of digits with a decimal number of few digits.
  private static let shortDigitCount = 18

  /// Whether the number has so few digits that Foundation adds it to another one without a loss.
  private var isShort: Bool { significand.magnitude < 1_000_000_000_000_000_000 }

  /// The integer of the digits, without the sign.
  private var digits: UInt128? {
    UInt128(Decimal(sign: .plus, exponent: 0, significand: significand.magnitude).description)
  }

  /// The least and the greatest exponent of a decimal.
  private static let exponents = -128...127

  /// The decimal of digits, the first of which is not zero, and of the place of the last digit, rounded half away from
  /// zero to the digits of a decimal.
  static func rounded(_ digits: [UInt8], _ exponent: Int, isNegative: Bool) -> Decimal? {
    let excess = max(0, digits.count - DecimalSum.greatestDigitCount, exponents.lowerBound - exponent)
    if excess > digits.count { return 0 }
    var number = UInt128(0)
    for digit in digits.prefix(digits.count - excess) { number = number * 10 + UInt128(digit) }
    if excess > 0, digits[digits.count - excess] >= 5 { number += 1 }
    if number == 0 { return 0 }
    var power = exponent + excess
    while number % 10 == 0 {
      number /= 10
      power += 1
    }
    var text = String(number)
    while power > exponents.upperBound, text.count < DecimalSum.greatestDigitCount {
      text += "0"
      power -= 1
    }
    guard power <= exponents.upperBound else { return nil }
    return Decimal(
      string: "\(isNegative ? "-" : "")\(text)e\(power)", locale: Locale(identifier: "en_US_POSIX"))
  }
}
