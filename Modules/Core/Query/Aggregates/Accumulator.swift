import Foundation

/// The state of an aggregate function after some values. Missing values are never added, except to a count of records,
/// which adds a missing value for each record.
///
/// The results of parts of the records are combined by ``add(part:)``. Only the results of
/// ``AggregateFunction/countDistinct`` cannot be combined.
enum Accumulator {
  case count(Int64)
  case distinct(DistinctValues)
  case integers(Int128)
  case doubles(Double)
  case decimals(DecimalSum)
  /// The least or greatest value so far; null before the first value.
  case extreme(AttributeValue, isMaximum: Bool)

  /// Different values. A class, so that adding a value copies nothing.
  final class DistinctValues {
    var values: Set<AttributeValue> = []
  }

  /// The state before the first value.
  ///
  /// - Parameters:
  ///   - function: The function. For ``AggregateFunction/average`` the state is the sum of the values, which
  ///     `average(sum:count:)` divides by their count.
  ///   - storage: The representation of the values.
  init(_ function: AggregateFunction, of storage: StorageType) {
    switch function {
    case .count: self = .count(0)
    case .countDistinct: self = .distinct(DistinctValues())
    case .minimum: self = .extreme(.null, isMaximum: false)
    case .maximum: self = .extreme(.null, isMaximum: true)
    case .sum, .average:
      switch storage {
      case .float, .double: self = .doubles(0)
      case .decimal: self = .decimals(DecimalSum())
      default: self = .integers(0)
      }
    }
  }

  /// Adds a value.
  mutating func add(_ value: AttributeValue) {
    switch self {
    case .count(let number): self = .count(number + 1)
    case .distinct(let distinct): distinct.values.insert(value)
    case .integers(let sum):
      // Each integer has 64 bits, so that 128 bits hold the sum of 2^63 records.
      if case .int(let number) = value { self = .integers(sum + Int128(number)) } else { addRounded(value) }
    case .doubles(let sum):
      self = .doubles(sum + (value.nearestDouble ?? 0))
    case .decimals(let sum):
      if case .decimal(let number) = value { sum.add(number) } else { addRounded(value) }
    case .extreme(let current, let isMaximum):
      let order = current.isNull ? 0 : value.order(to: current)
      if current.isNull || (isMaximum ? order > 0 : order < 0) { self = .extreme(value, isMaximum: isMaximum) }
    }
  }

  /// Adds a double to a sum of integers or decimals: a sum of members, or of a part of the records, out of the range of
  /// its type is a rounded double. The total is a double from then on, even if a further sum of the other sign brings
  /// the total back into the range.
  private mutating func addRounded(_ value: AttributeValue) {
    guard case .double(let number) = value, let sum = result.nearestDouble else { return }
    self = .doubles(sum + number)
  }

  /// Adds the result of a part of the records, which another accumulator or a store has computed with the same function
  /// and storage type.
  mutating func add(part value: AttributeValue) {
    switch self {
    case .count(let number):
      if case .int(let other) = value { self = .count(number + other) }
    case .doubles where value.isNull:
      // A missing sum stands for infinities of both signs, which have no sum.
      self = .doubles(.nan)
    default:
      if !value.isNull { add(value) }
    }
  }

  /// The result. A sum of integers or decimals out of the range of its type is the nearest double.
  var result: AttributeValue {
    switch self {
    case .count(let number): .int(number)
    case .distinct(let distinct): .int(Int64(distinct.values.count))
    case .integers(let sum): Int64(exactly: sum).map(AttributeValue.int) ?? .double(Double(sum))
    case .doubles(let sum): sum.isNaN ? .null : .double(sum)
    case .decimals(let sum): sum.value
    case .extreme(let value, _): value
    }
  }
}

extension AttributeValue {
  /// The double nearest to a number; `nil` for other values.
  package var nearestDouble: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): number.nearestDouble
    default: nil
    }
  }

  /// The average of values, from their sum and count. Null without values, and for a missing sum.
  static func average(sum: AttributeValue, count: AttributeValue) -> AttributeValue {
    guard case .int(let count) = count, count > 0 else { return .null }
    switch sum {
    case .int(let sum): return .double(Double(sum) / Double(count))
    case .double(let sum): return .double(sum / Double(count))
    case .decimal(let sum): return Decimal.quotient(sum, Decimal(count)).map(AttributeValue.decimal) ?? .null
    default: return .null
    }
  }
}
