import GRDBSQLite

/// The order of decimal numbers kept as plain text: an optional minus, digits, and optionally a point and more digits.
/// In this order, `9` comes before `10`, and `1.5` equals `1.50` and the ``RoundedDecimal`` `1.5.`.
enum DecimalCollation {
  /// Registers the collation in a connection.
  static func register(in connection: OpaquePointer) -> CInt {
    sqlite3_create_collation_v2(
      connection, SQLiteDialect.decimalCollation, SQLITE_UTF8, nil,
      { _, leftCount, left, rightCount, right in
        DecimalCollation.order(
          UnsafeRawBufferPointer(start: left, count: Int(leftCount)),
          UnsafeRawBufferPointer(start: right, count: Int(rightCount)))
      }, nil)
  }

  /// Returns the order of two numbers: negative, zero or positive.
  static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> CInt {
    let a = Parts(left)
    let b = Parts(right)
    if a.isZero && b.isZero { return 0 }
    if a.isNegative != b.isNegative {
      if a.isZero { return b.isNegative ? 1 : -1 }
      return a.isNegative ? -1 : 1
    }
    let order = magnitudeOrder(a, b)
    return a.isNegative ? -order : order
  }

  /// The order of two numbers without their signs.
  private static func magnitudeOrder(_ a: Parts, _ b: Parts) -> CInt {
    if a.whole.count != b.whole.count { return a.whole.count < b.whole.count ? -1 : 1 }
    for (x, y) in zip(a.whole, b.whole) where x != y { return x < y ? -1 : 1 }
    for (x, y) in zip(a.fraction, b.fraction) where x != y { return x < y ? -1 : 1 }
    if a.fraction.count == b.fraction.count { return 0 }
    return a.fraction.count < b.fraction.count ? -1 : 1
  }

  /// A number's digits without leading zeros before the point and trailing zeros behind it.
  private struct Parts {
    let isNegative: Bool
    let whole: Slice<UnsafeRawBufferPointer>
    let fraction: Slice<UnsafeRawBufferPointer>
    var isZero: Bool { whole.isEmpty && fraction.isEmpty }

    init(_ text: UnsafeRawBufferPointer) {
      let zero = UInt8(ascii: "0")
      isNegative = text.first == UInt8(ascii: "-")
      let digits = RoundedDecimal.withoutMark(text.dropFirst(isNegative ? 1 : 0))
      let point = digits.firstIndex(of: UInt8(ascii: "."))
      whole = digits[..<(point ?? digits.endIndex)].drop { $0 == zero }
      var fraction = point.map { digits[($0 + 1)...] } ?? digits[digits.endIndex...]
      while fraction.last == zero { fraction.removeLast() }
      self.fraction = fraction
    }
  }
}
