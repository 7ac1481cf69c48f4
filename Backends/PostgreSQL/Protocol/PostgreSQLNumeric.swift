import CoherenceCore
import Foundation

// The server's `numeric` is a list of digits to the base 10,000: their number, the power of the first, the sign, how
// many decimals to show, and the digits.

extension ByteBuffer {
  /// Appends a decimal number, exactly.
  ///
  /// - Throws: ``ErrorCode/invalidValue`` for a value other than a number.
  func append(_ number: Decimal) throws {
    guard !number.isNaN else {
      throw CoherenceError(.invalidValue, "A decimal attribute cannot store NaN; assign a number.")
    }
    let parts = DecimalDigits(number)
    append(Int16(parts.groups.count))
    append(parts.weight)
    append(parts.isNegative ? 0x4000 as UInt16 : 0)
    append(parts.scale)
    for group in parts.groups { append(group) }
  }
}

/// A decimal number to the base 10,000.
private struct DecimalDigits {
  var groups: [Int16] = []
  /// The power of 10,000 of the first group.
  var weight: Int16 = 0
  /// The number of decimals.
  var scale: Int16 = 0
  var isNegative = false

  /// Splits the number's text, which is plain notation, exact, and the same in every locale.
  init(_ number: Decimal) {
    var text = Substring(number.description)
    isNegative = text.first == "-"
    if isNegative { text = text.dropFirst() }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
    let whole = parts[0].map { Int16($0 - 0x30) }
    let fraction = parts.count > 1 ? parts[1].map { Int16($0 - 0x30) } : []
    scale = Int16(fraction.count)
    let digits =
      Array(repeating: 0, count: (4 - whole.count % 4) % 4) + whole + fraction
      + Array(repeating: 0, count: (4 - fraction.count % 4) % 4)
    groups = stride(from: 0, to: digits.count, by: 4).map { digits[$0..<$0 + 4].reduce(0) { $0 * 10 + $1 } }
    weight = Int16((whole.count + 3) / 4 - 1)
    trim()
  }

  /// Removes the groups of zeros at both ends.
  private mutating func trim() {
    let leading = groups.prefix { $0 == 0 }.count
    groups.removeFirst(leading)
    weight -= Int16(leading)
    while groups.last == 0 { groups.removeLast() }
    if groups.isEmpty {
      weight = 0
      isNegative = false
    }
  }
}

extension PostgreSQLBinary {
  /// The number in the bytes of a `numeric`; `nil` for other values, and for numbers out of range. The last digits are
  /// dropped if the number has more digits than a `Decimal`.
  static func decimal(_ bytes: UnsafeRawPointer, count: Int) -> Decimal? {
    guard count >= 8 else { return nil }
    let size = Int(bytes.bigEndian(Int16.self))
    let sign = (bytes + 4).bigEndian(UInt16.self)
    guard count == 8 + size * 2, sign == 0 || sign == 0x4000 else { return nil }
    var number = ScaledInteger()
    for index in 0..<size { number.append(group: UInt128((bytes + 8 + index * 2).bigEndian(UInt16.self))) }
    let weight = Int((bytes + 2).bigEndian(Int16.self))
    return number.decimal(lastPower: (weight - size + 1) * 4, isNegative: sign != 0)
  }

  /// The whole number in the bytes of a `numeric`; `nil` for other values, and for numbers whose magnitude is greater
  /// than the greatest `Int128`.
  static func integer(_ bytes: UnsafeRawPointer, count: Int) -> Int128? {
    guard count >= 8 else { return nil }
    let size = Int(bytes.bigEndian(Int16.self))
    let weight = Int((bytes + 2).bigEndian(Int16.self))
    let sign = (bytes + 4).bigEndian(UInt16.self)
    guard count == 8 + size * 2, size <= weight + 1 || size == 0, sign == 0 || sign == 0x4000 else {
      return nil
    }
    if size == 0 { return 0 }
    var number: Int128 = 0
    for index in 0...weight {
      // Groups of zeros at the end are left out.
      let group = index < size ? Int128((bytes + 8 + index * 2).bigEndian(UInt16.self)) : 0
      let (product, isProductTooLarge) = number.multipliedReportingOverflow(by: 10_000)
      let (sum, isSumTooLarge) = product.addingReportingOverflow(group)
      if isProductTooLarge || isSumTooLarge { return nil }
      number = sum
    }
    return sign == 0 ? number : -number
  }

  /// Returns the sum in the bytes of a `numeric`: the exact decimal, or the nearest double for a sum with too many
  /// digits, or out of the range of decimals; `nil` for other values.
  static func decimalSum(_ bytes: UnsafeRawPointer, count: Int) -> AttributeValue? {
    guard let number = decimal(bytes, count: count), isExact(number, bytes, count: count) else {
      return double(bytes, count: count).map(AttributeValue.double)
    }
    // Core decides how many digits are too many.
    let sum = DecimalSum()
    sum.add(number)
    return sum.value
  }

  /// The nearest double to the number in the bytes of a `numeric`; `nil` for other values.
  private static func double(_ bytes: UnsafeRawPointer, count: Int) -> Double? {
    guard count >= 8 else { return nil }
    let size = Int(bytes.bigEndian(Int16.self))
    let weight = Int((bytes + 2).bigEndian(Int16.self))
    let sign = (bytes + 4).bigEndian(UInt16.self)
    guard count == 8 + size * 2, sign == 0 || sign == 0x4000 else { return nil }
    var text = sign == 0 ? "0" : "-0"
    for index in 0..<size {
      let group = String((bytes + 8 + index * 2).bigEndian(UInt16.self))
      text += String(repeating: "0", count: max(4 - group.count, 0)) + group
    }
    return Double("\(text)e\((weight - size + 1) * 4)")
  }

  /// Whether a number, read from the bytes of a `numeric`, has all of its digits.
  private static func isExact(_ number: Decimal, _ bytes: UnsafeRawPointer, count: Int) -> Bool {
    let parts = DecimalDigits(number)
    let stored = (0..<(count - 8) / 2).map { (bytes + 8 + $0 * 2).bigEndian(Int16.self) }
    return parts.groups == stored && (stored.isEmpty || parts.weight == (bytes + 2).bigEndian(Int16.self))
  }

  /// A whole number read digit by digit, and the power of ten that it has to be multiplied by.
  private struct ScaledInteger {
    /// The digits before the zeros and the dropped digits at the end, which `power` counts.
    private var magnitude: UInt128 = 0
    private var power = 0

    /// Appends the four digits of a group to the base 10,000.
    mutating func append(group: UInt128) {
      var divisor: UInt128 = 1000
      while divisor > 0 {
        append(digit: group / divisor % 10)
        divisor /= 10
      }
    }

    /// Appends a digit. Zeros only raise the power, so that they take no room in the magnitude. A digit for which the
    /// magnitude has no room is dropped, and raises the power too.
    private mutating func append(digit: UInt128) {
      guard digit != 0 else {
        if magnitude != 0 { power += 1 }
        return
      }
      var shifted = magnitude
      for _ in 0...power {
        let (product, overflow) = shifted.multipliedReportingOverflow(by: 10)
        if overflow { return power += 1 }
        shifted = product
      }
      let (sum, overflow) = shifted.addingReportingOverflow(digit)
      if overflow { return power += 1 }
      magnitude = sum
      power = 0
    }

    /// The number as a decimal; `nil` for a number out of range.
    ///
    /// - Parameter lastPower: The power of ten of the last digit.
    func decimal(lastPower: Int, isNegative: Bool) -> Decimal? {
      if magnitude == 0 { return 0 }
      var magnitude = magnitude
      var exponent = power + lastPower
      while exponent > 127 {
        let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        magnitude = product
        exponent -= 1
      }
      while exponent < -128, magnitude > 0 {
        magnitude /= 10
        exponent += 1
      }
      if magnitude == 0 { return 0 }
      if let small = UInt64(exactly: magnitude) {
        return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: Decimal(small))
      }
      return Decimal(string: "\(isNegative ? "-" : "")\(magnitude)e\(exponent)", locale: posix)
    }

    private let posix = Locale(identifier: "en_US_POSIX")
  }
}
