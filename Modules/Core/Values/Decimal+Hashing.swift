import Foundation

extension Decimal {
  /// Ten to the power of the number of last digits that a hash takes by themselves.
  private static let lastDigits = Decimal(sign: .plus, exponent: 15, significand: 1)

  /// Hashes the first and the last digits of the number. Equal numbers have equal hashes.
  // Foundation hashes the nearest double, which consecutive numbers of more than 16 digits share: a dictionary of such
  // numbers compares each with all.
  func hashDigits(into hasher: inout Hasher) {
    hasher.combine(self)
    if isNaN { return }
    var number = self
    // Equal numbers have the same digits once the zeros at their ends are gone.
    NSDecimalCompact(&number)
    var digits = number.significand
    guard digits.magnitude >= Self.lastDigits else { return }
    var first = Decimal()
    NSDecimalRound(&first, &digits, -15, .down)
    hasher.combine(number.exponent)
    hasher.combine(digits - first)
  }
}
