import Foundation

extension AttributeType {
  /// Checks a value and returns it in the form in which it is stored.
  ///
  /// Converts integers to floating-point and decimal numbers if the conversion loses no precision, and rounds a double
  /// to the nearest float for a `float` attribute. Writes the text of a URL as `URL` does, which encodes characters such
  /// as spaces: a URL then has one text, by which it is compared, whether it comes as a `URL` or as a text. A text that
  /// is no URL stays as it is. Any other value must have the type's own storage. A missing value is always valid: whether
  /// an attribute is optional is checked at a save.
  ///
  /// Refuses values that stores cannot keep: not-a-number, text with U+0000, and numbers out of the type's range. Reads
  /// nothing; the cost grows only with the length of a text. May be called on any thread.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for a value of another kind; ``ErrorCode/invalidValue`` for a value of the right
  ///   kind that stores or the type refuse. The sentences of the errors do not contain the value.
  public func checked(_ value: AttributeValue) throws(CoherenceError) -> AttributeValue {
    switch (self, value) {
    case (_, .null):
      return .null
    case (.int16, .int(let number)):
      return try Self.ranged(number, Int64(Int16.min)...Int64(Int16.max), self)
    case (.int32, .int(let number)):
      return try Self.ranged(number, Int64(Int32.min)...Int64(Int32.max), self)
    case (.int64, .int), (.bool, .bool), (.uuid, .uuid), (.data, .data), (.date, .date), (.transformable, .data):
      return value
    case (.double, .double(let number)):
      return try Self.number(number)
    case (.double, .int(let number)) where Int64(exactly: Double(number)) == number:
      return .double(Double(number))
    case (.float, .double(let number)):
      let narrow = Float(try Self.finiteOrInfinite(number))
      guard narrow.isInfinite == number.isInfinite else {
        throw CoherenceError(.invalidValue, "The number is out of the range of a float.")
      }
      return .double(Double(narrow))
    case (.float, .int(let number)) where Float(exactly: number) != nil:
      return .double(Double(number))
    case (.decimal, .decimal(let number)):
      guard !number.isNaN else { throw CoherenceError(.invalidValue, "Not-a-number cannot be stored.") }
      return value
    case (.decimal, .int(let number)):
      return .decimal(Decimal(number))
    case (.string, .string(let text)), (.codable, .string(let text)):
      return try Self.text(text, value)
    case (.url, .string(let text)):
      return try Self.text(text, value).storedURL
    case (.weakReference, .string(let text)):
      guard StoredObjectID(text) != nil else {
        throw CoherenceError(
          .invalidValue, "The text is no identifier of a saved record, which a weak reference needs.")
      }
      return try Self.text(text, value)
    case (.enumeration(let raw, let cases), _):
      let checked = try raw.checked(value)
      guard cases?.contains(checked) != false else {
        throw CoherenceError(.invalidValue, "The value is not a case of the enumeration.")
      }
      return checked
    case (.date, .double(let number)) where number.isNaN:
      // `Date.attributeValue` returns not-a-number for a date out of range.
      throw CoherenceError(
        .invalidValue, "The date lies further from 1970 than 291,500 years, which no store can keep.")
    case (.int64, .double(let number)) where number.isNaN:
      // `Duration.attributeValue` returns not-a-number for a duration out of range.
      throw CoherenceError(
        .invalidValue, "The value is no 64-bit integer. A duration must be shorter than 292 years.")
    default:
      throw CoherenceError(
        .wrongType, "A value of type \(value.typeName) was given where \(canonicalName) is expected.")
    }
  }

  private static func ranged(_ number: Int64, _ range: ClosedRange<Int64>, _ type: AttributeType)
    throws(CoherenceError) -> AttributeValue
  {
    guard range.contains(number) else {
      throw CoherenceError(.invalidValue, "The number is out of the range of \(type.canonicalName).")
    }
    return .int(number)
  }

  /// Refuses not-a-number. Infinities are valid.
  private static func finiteOrInfinite(_ number: Double) throws(CoherenceError) -> Double {
    guard !number.isNaN else { throw CoherenceError(.invalidValue, "Not-a-number cannot be stored.") }
    return number
  }

  private static func number(_ number: Double) throws(CoherenceError) -> AttributeValue {
    .double(try finiteOrInfinite(number))
  }

  private static func text(_ text: String, _ value: AttributeValue) throws(CoherenceError) -> AttributeValue {
    guard !text.containsNUL else {
      throw CoherenceError(.invalidValue, "Text with the character U+0000 cannot be stored.")
    }
    return value
  }
}

extension AttributeType {
  /// Whether the stored texts are those of URLs, see ``checked(_:)``.
  package var storesURLs: Bool {
    switch self {
    case .url: true
    case .enumeration(let raw, _): raw.storesURLs
    default: false
    }
  }
}

extension String {
  /// Whether the text contains the character U+0000.
  var containsNUL: Bool {
    utf8.withContiguousStorageIfAvailable { $0.count > 0 && memchr($0.baseAddress!, 0, $0.count) != nil }
      ?? utf8.contains(0)
  }
}

extension String {
  /// Whether the text has only characters that no URL encodes, so that its URL, if there is one, has the same text. Most
  /// texts of URLs are such, and the check takes a fraction of the time of parsing.
  fileprivate var isEncodedURL: Bool {
    utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "?")...UInt8(ascii: "Z"),
        // The characters from `&` to `;`, which include the digits.
        UInt8(ascii: "&")...UInt8(ascii: ";"):
        true
      case UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "="), UInt8(ascii: "!"), UInt8(ascii: "$"): true
      default: false
      }
    }
  }
}

extension AttributeValue {
  /// The text of a URL in its stored form, see ``AttributeType/checked(_:)``. Any other value stays as it is.
  var storedURL: AttributeValue {
    guard case .string(let text) = self, !text.isEncodedURL, let url = URL(string: text) else { return self }
    return url.attributeValue
  }

  /// The name of the value's kind, such as `integer`, for messages. Never contains the value.
  public var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int: "integer"
    case .double: "double"
    case .string: "string"
    case .data: "data"
    case .date: "date"
    case .uuid: "uuid"
    case .decimal: "decimal"
    case .reference: "object"
    }
  }

  /// The order of two values of one kind: negative, zero or positive. Null comes before everything, `false` before
  /// `true`, strings by UTF-8 bytes, data and UUIDs byte by byte, references by their keys. Integers, doubles and
  /// decimals compare by value, without rounding an integer; the not-a-number of
  /// doubles comes after all numbers.
  ///
  /// Values of incomparable kinds have a fixed order of kinds, so that a list of values of several kinds has one order.
  public func order(to other: AttributeValue) -> Int {
    switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let a), .bool(let b)): a == b ? 0 : (b ? -1 : 1)
    case (.int(let a), .int(let b)): Self.order(a, b)
    case (.double(let a), .double(let b)): Self.order(a, b)
    case (.decimal(let a), .decimal(let b)): Self.order(a, b)
    case (.int(let a), .double(let b)): Self.order(a, b)
    case (.double(let a), .int(let b)): -Self.order(b, a)
    case (.int(let a), .decimal(let b)): Self.order(Decimal(a), b)
    case (.decimal(let a), .int(let b)): Self.order(a, Decimal(b))
    case (.double(let a), .decimal(let b)): -b.order(to: a)
    case (.decimal(let a), .double(let b)): a.order(to: b)
    case (.string(let a), .string(let b)): a.byteOrder(to: b)
    case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b) ? -1 : (a == b ? 0 : 1)
    case (.date(let a), .date(let b)): Self.order(a, b)
    case (.uuid(let a), .uuid(let b)): Self.order(a, b)
    case (.reference(let a), .reference(let b)): Self.order(a.key, b.key)
    default: Self.order(kind, other.kind)
    }
  }

  /// The position of the value's kind in the fixed order of kinds; see ``order(to:)``.
  private var kind: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .int: 2
    case .double: 3
    case .decimal: 4
    case .string: 5
    case .data: 6
    case .date: 7
    case .uuid: 8
    case .reference: 9
    }
  }

  private static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : (a == b ? 0 : 1) }

  private static func order(_ a: Double, _ b: Double) -> Int {
    if a < b { return -1 }
    if a > b { return 1 }
    // Not-a-number, which no store keeps, is neither less nor greater than a number.
    return a == b ? 0 : order(a.isNaN ? 1 : 0, b.isNaN ? 1 : 0)
  }

  /// The order of an integer and a double by their exact values, without rounding the integer.
  private static func order(_ a: Int64, _ b: Double) -> Int {
    if b >= 0x1p63 || b.isNaN { return -1 }
    if b < -0x1p63 { return 1 }
    let whole = Int64(b.rounded(.towardZero))
    if a != whole { return a < whole ? -1 : 1 }
    return order(Double(whole), b)
  }

  private static func order(_ a: UUID, _ b: UUID) -> Int {
    withUnsafeBytes(of: a.uuid) { left in
      withUnsafeBytes(of: b.uuid) { right in
        left.elementsEqual(right) ? 0 : (left.lexicographicallyPrecedes(right) ? -1 : 1)
      }
    }
  }
}
