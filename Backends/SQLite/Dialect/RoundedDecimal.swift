/// The text of a number that takes the place of a sum with too many digits for a decimal: the shortest digits of the
/// nearest floating-point number in plain notation, with a point at the end.
///
/// The point marks the number, because no text of a decimal ends with a point. ``DecimalCollation`` ignores the point
/// and puts the number among the decimals, as Core compares floating-point numbers with decimals: by their shortest
/// digits.
enum RoundedDecimal {
  private static let mark = UInt8(ascii: ".")

  /// The number of a text; `nil` for the text of a decimal.
  static func number(in text: UnsafeBufferPointer<UInt8>) -> Double? {
    guard text.last == mark else { return nil }
    return Double(String(decoding: text.dropLast(), as: UTF8.self))
  }

  /// The digits of a text without the point at the end.
  static func withoutMark(_ digits: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    digits.last == mark ? digits.dropLast() : digits
  }

  /// The text of a finite number.
  static func text(of number: Double) -> String {
    // The description has the form 12.5 or 1.25e+30.
    let parts = number.magnitude.description.split(separator: "e")
    let mantissa = parts[0].split(separator: ".")
    let fraction = mantissa.count > 1 && mantissa[1] != "0" ? String(mantissa[1]) : ""
    let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    var digits = String(mantissa[0]) + fraction
    let places = max(fraction.count - exponent, 0)
    digits += String(repeating: "0", count: max(exponent - fraction.count, 0))
    digits = String(repeating: "0", count: max(places + 1 - digits.count, 0)) + digits
    let sign = number < 0 ? "-" : ""
    return places == 0 ? "\(sign)\(digits)." : "\(sign)\(digits.dropLast(places)).\(digits.suffix(places))."
  }
}
