import CoherenceCore
import Foundation

/// The types of values with results of their own in aggregates.
enum PlainType {
  case integer, double, decimal, text, bool, date, uuid, data

  var isNumber: Bool { self == .integer || self == .double || self == .decimal }

  /// The type of the results of a function for values of the type.
  func result(of function: AggregateFunction) -> PlainType {
    switch function {
    case .count, .countDistinct: .integer
    case .average: self == .decimal ? .decimal : .double
    case .sum, .minimum, .maximum: self
    }
  }
}

/// The expected result of an aggregate function, computed from a list of values without the engine.
enum PlainResult {
  case value(AttributeValue)
  /// The sum or average of floating-point numbers whose last digits depend on the order of the addition.
  case near(Double, tolerance: Double)
  /// A sum that its type cannot hold.
  case overflow

  /// - Parameter values: All values, the missing ones too.
  init(_ function: AggregateFunction, of values: [AttributeValue], _ type: PlainType) {
    let present = values.filter { !$0.isNull }
    switch function {
    case .count: self = .value(.int(Int64(present.count)))
    case .countDistinct: self = .value(.int(Int64(Self.distinct(present).count)))
    case .minimum: self = .value(present.min { PlainOrder.order($0, $1) < 0 } ?? .null)
    case .maximum: self = .value(present.max { PlainOrder.order($0, $1) < 0 } ?? .null)
    case .sum: self = Self.sum(present, type)
    case .average: self = Self.average(present, type)
    }
  }

  /// The value, for conditions and orders, which compare exact results only.
  var value: AttributeValue {
    if case .value(let value) = self { value } else { .null }
  }

  /// Whether a value of a row is the result.
  func accepts(_ actual: AttributeValue) -> Bool {
    switch self {
    case .value(let value): return actual.typeName == value.typeName && PlainOrder.order(actual, value) == 0
    case .near(let number, let tolerance):
      guard case .double(let sum) = actual else { return false }
      return (sum - number).magnitude <= tolerance
    case .overflow: return false
    }
  }

  private static func distinct(_ values: [AttributeValue]) -> [AttributeValue] {
    var distinct: [AttributeValue] = []
    for value in values where !distinct.contains(where: { PlainOrder.order($0, value) == 0 }) { distinct.append(value) }
    return distinct
  }

  // MARK: Sums

  private static func sum(_ values: [AttributeValue], _ type: PlainType) -> PlainResult {
    switch type {
    case .double: return sum(doubles(values))
    case .decimal: return decimalSum(values).map { .value(.decimal($0)) } ?? .overflow
    default: return Int64(exactly: integerSum(values)).map { .value(.int($0)) } ?? .overflow
    }
  }

  private static func average(_ values: [AttributeValue], _ type: PlainType) -> PlainResult {
    guard !values.isEmpty else { return .value(.null) }
    let count = Double(values.count)
    switch type {
    case .double:
      switch sum(doubles(values)) {
      case .value(.double(let sum)): return .value(.double(sum / count))
      case .near(let sum, let tolerance):
        let average = sum / count
        return .near(average, tolerance: tolerance / count + average.magnitude * Double.ulpOfOne)
      case let missing: return missing
      }
    case .decimal:
      return decimalSum(values).flatMap { quotient($0, values.count) }.map { .value(.decimal($0)) } ?? .overflow
    // The quotient is a double, also of a sum that needs more than 64 bits.
    default: return .value(.double(Double(integerSum(values)) / count))
    }
  }

  /// The quotient with 38 digits, rounded half away from zero. Foundation cuts the digits of a quotient off.
  private static func quotient(_ sum: Decimal, _ count: Int) -> Decimal? {
    let text = sum.description
    let point = text.utf8.firstIndex(of: UInt8(ascii: "."))
    var exponent = point.map { 1 - text.utf8.distance(from: $0, to: text.utf8.endIndex) } ?? 0
    var (digits, rest) = ("", 0)
    func divide(_ digit: Int) {
      let dividend = rest * 10 + digit
      if !digits.isEmpty || dividend >= count { digits += String(dividend / count) }
      rest = dividend % count
    }
    for byte in text.utf8 where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { divide(Int(byte) - 0x30) }
    while rest != 0, digits.utf8.count < 39 {
      divide(0)
      exponent -= 1
    }
    let excess = max(0, digits.utf8.count - 38)
    guard !digits.isEmpty, var number = UInt128(digits.dropLast(excess)) else { return 0 }
    if excess > 0, let cut = digits.dropFirst(38).first, cut >= "5" { number += 1 }
    return Decimal(string: "\(text.hasPrefix("-") ? "-" : "")\(number)e\(exponent + excess)")
  }

  private static func doubles(_ values: [AttributeValue]) -> [Double] {
    values.compactMap { if case .double(let number) = $0 { number } else { nil } }
  }

  private static func integerSum(_ values: [AttributeValue]) -> Int128 {
    var sum: Int128 = 0
    for case .int(let number) in values { sum += Int128(number) }
    return sum
  }

  private static func decimalSum(_ values: [AttributeValue]) -> Decimal? {
    var sum = PlainDecimalSum()
    for case .decimal(let number) in values { sum.add(number) }
    return sum.value
  }

  /// A sum of quarters is exact in every order. Otherwise each addition rounds once, here and in the store.
  private static func sum(_ numbers: [Double]) -> PlainResult {
    let infinities = numbers.filter(\.isInfinite)
    if let first = infinities.first {
      // Infinities of both signs have no sum.
      return .value(infinities.allSatisfy { $0 == first } ? .double(first) : .null)
    }
    let sum = numbers.reduce(0, +)
    let areQuarters = numbers.allSatisfy { $0.magnitude < 1_000_000 && ($0 * 4).rounded() == $0 * 4 }
    if areQuarters || numbers.count == 1 { return .value(.double(sum)) }
    let magnitude = numbers.reduce(0) { $0 + $1.magnitude }
    return .near(sum, tolerance: Double(numbers.count) * magnitude * Double.ulpOfOne)
  }
}

/// An exact sum of decimals with at most 36 digits before the point and 20 digits behind it.
private struct PlainDecimalSum {
  private static let digitsOfFraction = 20
  /// 10^20.
  private static let unit: Int128 = 100_000_000_000_000_000_000

  private var whole: Int128 = 0
  /// The part behind the point, in units of 10^-20.
  private var fraction: Int128 = 0

  mutating func add(_ number: Decimal) {
    let text = number.description
    let parts = text.split(separator: ".")
    let sign: Int128 = text.hasPrefix("-") ? -1 : 1
    let digits = parts.count > 1 ? String(parts[1].prefix(Self.digitsOfFraction)) : ""
    let zeros = String(repeating: "0", count: Self.digitsOfFraction - digits.count)
    whole += sign * (Int128(String(parts[0].drop { $0 == "-" })) ?? 0)
    fraction += sign * (Int128(digits + zeros) ?? 0)
  }

  /// The sum; `nil` if the sum has more digits than a decimal.
  var value: Decimal? {
    var (whole, fraction) = (whole + fraction / Self.unit, fraction % Self.unit)
    // Both parts get the sign of the sum.
    if whole > 0, fraction < 0 {
      whole -= 1
      fraction += Self.unit
    } else if whole < 0, fraction > 0 {
      whole += 1
      fraction -= Self.unit
    }
    let places = String(fraction.magnitude)
    let zeros = String(repeating: "0", count: Self.digitsOfFraction - places.count)
    let digits = String(whole.magnitude) + zeros + places
    var significant = digits.drop { $0 == "0" }
    var exponent = -Self.digitsOfFraction
    while significant.last == "0" {
      significant.removeLast()
      exponent += 1
    }
    guard significant.count <= 38 else { return nil }
    guard !significant.isEmpty else { return 0 }
    return Decimal(string: "\(whole < 0 || fraction < 0 ? "-" : "")\(significant)e\(exponent)")
  }
}
