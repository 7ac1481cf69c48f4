import Foundation

/// Calculations with decimals of 38 digits, whose results are rounded half away from zero. The result is `nil` when it
/// is out of the range of decimals, and for an operand that is not a number.
extension Decimal {
  /// The least exponent of a decimal.
  private static let leastExponent = -128
  /// The number of digits of a decimal.
  private static let digitCount = 38

  /// The sum of two decimals.
  static func sum(_ left: Decimal, _ right: Decimal) -> Decimal? { calculated(NSDecimalAdd, left, right) }

  /// The difference of two decimals.
  static func difference(_ left: Decimal, _ right: Decimal) -> Decimal? { calculated(NSDecimalSubtract, left, right) }

  /// The quotient of two decimals; `nil` for the divisor zero too. A quotient closer to zero than every other decimal
  /// is zero.
  static func quotient(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN || right.isZero { return nil }
    let exponent = left.exponent - right.exponent
    // Foundation fails if the quotient with all digits, zeros at its end included, has less than the least exponent.
    guard exponent < leastExponent + digitCount else { return calculated(NSDecimalDivide, left, right) }
    return calculated(NSDecimalDivide, left.withoutExponent, right.withoutExponent)?.scaled(by: exponent)
  }

  /// The product of two decimals. A product closer to zero than every other decimal is zero.
  static func product(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN { return nil }
    if left.isZero || right.isZero { return 0 }
    let exponent = left.exponent + right.exponent
    // Foundation ends the process when the sum of the exponents is less than the least exponent.
    guard exponent < leastExponent else { return calculated(NSDecimalMultiply, left, right) }
    return product(left.withoutExponent, right.withoutExponent)?.scaled(by: exponent)
  }

  /// The integer of the digits, with the sign.
  private var withoutExponent: Decimal { Decimal(sign: sign, exponent: 0, significand: significand) }

  /// The product with a negative power of ten, rounded to the least exponent.
  private func scaled(by power: Int) -> Decimal {
    let excess = max(0, Self.leastExponent - exponent - power)
    let rounded = self.rounded(toPowerOfTen: exponent + excess)
    if rounded.isZero { return 0 }
    return Decimal(sign: rounded.sign, exponent: rounded.exponent + power, significand: rounded.significand)
  }

  private func rounded(toPowerOfTen exponent: Int) -> Decimal {
    var (result, number) = (Decimal(), self)
    NSDecimalRound(&result, &number, -exponent, .plain)
    return result
  }

  private typealias Calculation = (
    UnsafeMutablePointer<Decimal>, UnsafePointer<Decimal>, UnsafePointer<Decimal>, Decimal.RoundingMode
  ) -> Decimal.CalculationError

  private static func calculated(_ calculation: Calculation, _ left: Decimal, _ right: Decimal) -> Decimal? {
    var result = Decimal()
    let error = withUnsafePointer(to: left) { left in
      withUnsafePointer(to: right) { right in calculation(&result, left, right, .plain) }
    }
    return (error == .noError || error == .lossOfPrecision) && !result.isNaN ? result : nil
  }
}
