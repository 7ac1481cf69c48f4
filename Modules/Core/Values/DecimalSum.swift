package import Foundation

/// An exact sum of decimal numbers, which does not depend on their order.
///
/// Each word has nine digits at fixed decimal places. Words are added without a carry, because 64 bits hold the sum of
/// more than nine thousand million words. The carries are computed when the sum is read.
package final class DecimalSum {
  /// The place of the lowest digit of the lowest word, which comes first: the digit counts powers of 10^-135.
  private static let lowest = -135
  private static let digitsPerWord = 9
  private static let base: Int64 = 1_000_000_000
  // A decimal has digits from 10^-128 to 10^165; the sum of nine thousand million has ten more.
  private static let wordCount = 36
  private static let powers: [Int64] = (0..<9).reduce(into: [1]) { powers, _ in powers.append(powers.last! * 10) }

  private var words = [Int64](repeating: 0, count: DecimalSum.wordCount)
  /// Whether all digits of all numbers were in the range of the words.
  private var isExact = true

  package init() {}

  /// Adds a number.
  package func add(_ number: Decimal) {
    var text = number.description
    text.withUTF8 { add(digits: $0) }
  }

  /// Adds a number in plain notation: an optional minus, digits, and optionally a point and more digits.
  package func add(digits text: UnsafeBufferPointer<UInt8>) {
    let isNegative = text.first == UInt8(ascii: "-")
    let point = text.firstIndex(of: UInt8(ascii: "."))
    var place = point.map { $0 + 1 - text.count } ?? 0
    let sign: Int64 = isNegative ? -1 : 1
    for index in stride(from: text.count - 1, through: isNegative ? 1 : 0, by: -1) {
      let digit = Int64(text[index]) - 0x30
      guard (0...9).contains(digit) else { continue }
      let position = place - Self.lowest
      place += 1
      guard digit != 0 else { continue }
      let word = position / Self.digitsPerWord
      guard position >= 0, word < Self.wordCount else {
        isExact = false
        continue
      }
      words[word] += sign * digit * Self.powers[position % Self.digitsPerWord]
    }
  }

  /// The sum as a decimal, or as the nearest double if a decimal does not have enough digits.
  package var value: AttributeValue {
    let (digits, exponent, isNegative) = significantDigits()
    if digits.isEmpty { return .decimal(0) }
    var text = digits
    var power = exponent
    while power > Self.greatestExponent, text.count < Self.greatestDigitCount {
      text += "0"
      power -= 1
    }
    let number = "\(isNegative ? "-" : "")\(text)e\(power)"
    if isExact, text.count <= Self.greatestDigitCount, power <= Self.greatestExponent, power >= -128,
      let decimal = Decimal(string: number, locale: Locale(identifier: "en_US_POSIX"))
    {
      return .decimal(decimal)
    }
    return .double(Double(number) ?? 0)
  }

  /// The sum as a decimal, rounded half away from zero to the digits of a decimal; `nil` for a sum out of the range of
  /// decimals.
  var rounded: Decimal? {
    let (digits, exponent, isNegative) = significantDigits()
    return isExact ? .rounded(digits.utf8.map { $0 - 0x30 }, exponent, isNegative: isNegative) : nil
  }

  /// The greatest number of significant digits of a decimal.
  package static let greatestDigitCount = 38
  /// The greatest exponent of a decimal.
  private static let greatestExponent = 127

  /// The digits of the sum without zeros at either end, and the place of the last digit.
  private func significantDigits() -> (digits: String, exponent: Int, isNegative: Bool) {
    var words = words
    let isNegative = Self.carry(&words) < 0
    if isNegative {
      words = self.words.map { -$0 }
      _ = Self.carry(&words)
    }
    var digits: [UInt8] = []
    for word in words.reversed() {
      for power in Self.powers.prefix(Self.digitsPerWord).reversed() { digits.append(UInt8(word / power % 10) + 0x30) }
    }
    let significant = digits.drop { $0 == 0x30 }
    let count = (significant.lastIndex { $0 != 0x30 } ?? significant.startIndex - 1) + 1 - significant.startIndex
    let trimmed = significant.prefix(count)
    let exponent = Self.lowest + significant.count - trimmed.count
    return (String(decoding: trimmed, as: UTF8.self), exponent, isNegative)
  }

  /// Reduces every word to nine digits, and adds the carry to the next word.
  ///
  /// - Returns: The carry of the last word, negative for a negative sum.
  private static func carry(_ words: inout [Int64]) -> Int64 {
    var carry: Int64 = 0
    for index in words.indices {
      let sum = words[index] + carry
      var digits = sum % base
      carry = sum / base
      if digits < 0 {
        digits += base
        carry -= 1
      }
      words[index] = digits
    }
    return carry
  }
}
