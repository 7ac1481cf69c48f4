import CoherenceCore
import Foundation

/// The position among the integers of a number that no integer column can have. Engines would round the column's values
/// to compare them with the number.
enum IntegerBound {
  /// Greater than this integer and less than the next one.
  case between(Int64)
  /// Greater, or less, than all integers.
  case beyondAll(isAbove: Bool)

  var isBeyondAll: Bool { if case .beyondAll = self { true } else { false } }

  /// The position of a constant compared with an operand; `nil` for an operand other than an integer, for a constant
  /// that equals an integer, and for a constant that is no number.
  init?(_ value: AttributeValue, for operand: QueryOperand) {
    guard [.int16, .int32, .int64].contains(operand.storage) else { return nil }
    switch value {
    case .double(let number) where !number.isNaN: self.init(number)
    case .decimal(let number) where !number.isNaN: self.init(number)
    default: return nil
    }
  }

  private init?(_ number: Double) {
    let lower = number.rounded(.down)
    guard number.isFinite, let integer = Int64(exactly: lower) else {
      self = .beyondAll(isAbove: number > 0)
      return
    }
    if lower == number { return nil }
    self = .between(integer)
  }

  private init?(_ number: Decimal) {
    var (number, lower) = (number, Decimal())
    NSDecimalRound(&lower, &number, 0, .down)
    guard let integer = Int64(lower.description) else {
      self = .beyondAll(isAbove: number > 0)
      return
    }
    if lower == number { return nil }
    self = .between(integer)
  }
}
