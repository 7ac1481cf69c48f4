import Foundation

/// An operation with two numbers in a condition, as in `price * quantity > 100`.
///
/// The rules are the same on every store:
///
/// - Two integers of any width give a 64-bit integer. The quotient of two integers is truncated towards zero, and the
///   remainder has the sign of the dividend. The remainder is defined for integers only.
/// - An integer and a floating-point number give a double; an integer and a decimal give a decimal, with 38 digits,
///   rounded half away from zero. A floating-point number and a decimal have no common type: the fetch throws
///   ``ErrorCode/invalidPredicate``. A floating-point constant beside a decimal becomes a decimal.
/// - The result is missing if an operand is missing, if the divisor is zero, and if the result is out of the range of
///   its type: an overflow or an infinity. A missing result is compared as a missing value.
public enum ArithmeticOperator: Int, Sendable, Hashable, CaseIterable {
  /// The sum: `a + b`.
  case add
  /// The difference: `a - b`.
  case subtract
  /// The product: `a * b`.
  case multiply
  /// The quotient: `a / b`.
  case divide
  /// The remainder of the division of integers: `modulus:by:(a, b)` in format text, `a % b` in typed expressions.
  case remainder
}

extension ArithmeticOperator {
  /// The operator in messages and, except for the remainder, in format text.
  var symbol: String {
    switch self {
    case .add: "+"
    case .subtract: "-"
    case .multiply: "*"
    case .divide: "/"
    case .remainder: "modulus:by:"
    }
  }
}

/// The calculation of an ``ArithmeticOperator`` with operands of known types. Defines the results for all stores.
package struct Arithmetic: Sendable, Hashable {
  /// The types of numbers in calculations. Narrower types are widened.
  package enum Number: Int, Sendable, Hashable, CaseIterable {
    case integer, double, decimal
  }

  package let operation: ArithmeticOperator
  package let left: Number
  package let right: Number

  /// Makes a calculation; `nil` for a decimal with a floating-point number, and for the remainder of numbers other than
  /// integers.
  package init?(_ operation: ArithmeticOperator, _ left: Number, _ right: Number) {
    guard left == right || left == .integer || right == .integer else { return nil }
    guard operation != .remainder || (left == .integer && right == .integer) else { return nil }
    self.operation = operation
    self.left = left
    self.right = right
  }

  /// The type of the results.
  package var result: Number { left == .integer ? right : left }

  /// Calculates the result for two values; null for a missing result.
  package func value(_ first: AttributeValue, _ second: AttributeValue) -> AttributeValue {
    switch result {
    case .integer:
      guard case .int(let a) = first, case .int(let b) = second else { return .null }
      return integer(a, b).map(AttributeValue.int) ?? .null
    case .double:
      guard let a = Self.double(first, left), let b = Self.double(second, right) else { return .null }
      return double(a, b).map(AttributeValue.double) ?? .null
    case .decimal:
      guard let a = Self.decimal(first, left), let b = Self.decimal(second, right) else { return .null }
      return decimal(a, b).map(AttributeValue.decimal) ?? .null
    }
  }

  /// The result for integers; `nil` for a zero divisor and for an overflow.
  private func integer(_ a: Int64, _ b: Int64) -> Int64? {
    if b == 0, operation == .divide || operation == .remainder { return nil }
    // The remainder of a division by -1 is zero, even if the quotient overflows.
    if b == -1, operation == .remainder { return 0 }
    let (result, isBeyond) =
      switch operation {
      case .add: a.addingReportingOverflow(b)
      case .subtract: a.subtractingReportingOverflow(b)
      case .multiply: a.multipliedReportingOverflow(by: b)
      case .divide: a.dividedReportingOverflow(by: b)
      case .remainder: a.remainderReportingOverflow(dividingBy: b)
      }
    return isBeyond ? nil : result
  }

  /// The result for doubles; `nil` for an infinity, which a zero divisor gives too, and for not-a-number.
  private func double(_ a: Double, _ b: Double) -> Double? {
    let result: Double
    switch operation {
    case .add: result = a + b
    case .subtract: result = a - b
    case .multiply: result = a * b
    case .divide: result = a / b
    case .remainder: return nil
    }
    return result.isFinite ? result : nil
  }

  /// The result for decimals, rounded to 38 digits; `nil` for a zero divisor and for an overflow.
  private func decimal(_ a: Decimal, _ b: Decimal) -> Decimal? {
    switch operation {
    case .add: .sum(a, b)
    case .subtract: .difference(a, b)
    case .multiply: .product(a, b)
    case .divide: .quotient(a, b)
    case .remainder: nil
    }
  }

  // A sum of members out of the range of its type is a double instead of a number of the operand's type. The result of
  // a calculation with it is missing.

  private static func double(_ value: AttributeValue, _ number: Number) -> Double? {
    switch (number, value) {
    case (.integer, .int(let value)): Double(value)
    case (.double, .double(let value)): value
    default: nil
    }
  }

  private static func decimal(_ value: AttributeValue, _ number: Number) -> Decimal? {
    switch (number, value) {
    case (.integer, .int(let value)): Decimal(value)
    case (.decimal, .decimal(let value)): value.isNaN ? nil : value
    default: nil
    }
  }
}

extension Arithmetic.Number {
  /// The type of numbers of a representation; `nil` for a representation of other values.
  package init?(_ storage: StorageType) {
    switch storage {
    case .int16, .int32, .int64: self = .integer
    case .float, .double: self = .double
    case .decimal: self = .decimal
    default: return nil
    }
  }

  /// The representation of results.
  package var storage: StorageType {
    switch self {
    case .integer: .int64
    case .double: .double
    case .decimal: .decimal
    }
  }
}
