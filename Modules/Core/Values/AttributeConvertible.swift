public import Foundation

/// A Swift type for the values of attributes.
///
/// The framework's own conformances cover the model's types, and the optionals of all convertible types. An enumeration
/// with convertible raw values declares the conformance alone:
///
/// ```swift
/// enum Format: String, CaseIterable, AttributeConvertible { case vinyl, tape }
/// ```
/// Any other type is stored as a value of the model's types:
///
/// ```swift
/// struct Percent: AttributeConvertible {
///   var value: Int16
///
///   static var attributeType: AttributeType { .int16 }
///   static var attributeDefault: Percent { Percent(value: 0) }
///   var attributeValue: AttributeValue { .int(Int64(value)) }
///   init(value: Int16) { self.value = value }
///   init?(attributeValue: AttributeValue) {
///     guard let value = Int16(attributeValue: attributeValue) else { return nil }
///     self.value = value
///   }
/// }
/// ```
/// Both conversions must be inverse to each other, because the framework compares stored forms: to find changes, to
/// evaluate conditions, and to order records. Accessors convert at each read and write, on the thread of the context.
public protocol AttributeConvertible: Sendable {
  /// The type without the missing value: the wrapped type of an optional, and any other type itself. A result that a
  /// group may lack, such as the least value, has the optional of this type.
  associatedtype NonOptional: AttributeConvertible = Self
  /// The model's type for this Swift type.
  static var attributeType: AttributeType { get }
  /// The value that a typed accessor returns instead of a missing value, if the model has no default: for a record from
  /// before the attribute was required, and for an object that failed to load.
  static var attributeDefault: Self { get }
  /// The value in its stored form.
  var attributeValue: AttributeValue { get }
  /// Makes the value from its stored form; `nil` when the stored form has another type or is out of range. A required
  /// type returns `nil` for `.null`, so that accessors return the default; an optional type converts `.null` to its own
  /// `nil`.
  init?(attributeValue: AttributeValue)
}

/// Stored as a 64-bit integer.
extension Int64: AttributeConvertible {
  public static var attributeType: AttributeType { .int64 }
  @inlinable public static var attributeDefault: Int64 { 0 }
  @inlinable public var attributeValue: AttributeValue { .int(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .int(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as a 64-bit integer on every platform. On a platform with 32-bit integers, a stored number out of the range
/// of `Int` converts to `nil`.
extension Int: AttributeConvertible {
  public static var attributeType: AttributeType { .int64 }
  @inlinable public static var attributeDefault: Int { 0 }
  @inlinable public var attributeValue: AttributeValue { .int(Int64(self)) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .int(let value) = attributeValue, let exact = Int(exactly: value) else { return nil }
    self = exact
  }
}

/// Stored as an integer. A stored number out of the range of 32 bits converts to `nil`; accessors then return the
/// default.
extension Int32: AttributeConvertible {
  public static var attributeType: AttributeType { .int32 }
  @inlinable public static var attributeDefault: Int32 { 0 }
  @inlinable public var attributeValue: AttributeValue { .int(Int64(self)) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .int(let value) = attributeValue, let exact = Int32(exactly: value) else { return nil }
    self = exact
  }
}

/// Stored as an integer. A stored number out of the range of 16 bits converts to `nil`; accessors then return the
/// default.
extension Int16: AttributeConvertible {
  public static var attributeType: AttributeType { .int16 }
  @inlinable public static var attributeDefault: Int16 { 0 }
  @inlinable public var attributeValue: AttributeValue { .int(Int64(self)) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .int(let value) = attributeValue, let exact = Int16(exactly: value) else { return nil }
    self = exact
  }
}

/// Stored as a truth value. A stored integer converts to `nil`.
extension Bool: AttributeConvertible {
  public static var attributeType: AttributeType { .bool }
  @inlinable public static var attributeDefault: Bool { false }
  @inlinable public var attributeValue: AttributeValue { .bool(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .bool(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as a 64-bit floating-point number. Validation refuses not-a-number; infinities are valid.
extension Double: AttributeConvertible {
  public static var attributeType: AttributeType { .double }
  @inlinable public static var attributeDefault: Double { 0 }
  @inlinable public var attributeValue: AttributeValue { .double(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .double(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as a 64-bit floating-point number of the same value. A stored number with more digits is rounded to the
/// nearest `Float`.
extension Float: AttributeConvertible {
  public static var attributeType: AttributeType { .float }
  @inlinable public static var attributeDefault: Float { 0 }
  @inlinable public var attributeValue: AttributeValue { .double(Double(self)) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .double(let value) = attributeValue else { return nil }
    self = Float(value)
  }
}

/// Stored as an exact decimal number. Validation refuses not-a-number.
extension Decimal: AttributeConvertible {
  public static var attributeType: AttributeType { .decimal }
  @inlinable public static var attributeDefault: Decimal { 0 }
  @inlinable public var attributeValue: AttributeValue { .decimal(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .decimal(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as a text with the same UTF-8 bytes. Validation refuses a text with U+0000.
extension String: AttributeConvertible {
  public static var attributeType: AttributeType { .string }
  @inlinable public static var attributeDefault: String { "" }
  @inlinable public var attributeValue: AttributeValue { .string(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .string(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as bytes.
extension Data: AttributeConvertible {
  public static var attributeType: AttributeType { .data }
  @inlinable public static var attributeDefault: Data { Data() }
  @inlinable public var attributeValue: AttributeValue { .data(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .data(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as a number of microseconds since 1970. A read date is therefore rounded to the microsecond.
///
/// Before 1729 and after 2241, neighbouring dates are more than a microsecond apart. A stored time between two dates, such
/// as that of another program, is read as the nearer date, and stays as it is until a date is assigned. A ``Timestamp``
/// reads and writes every stored time exactly.
extension Date: AttributeConvertible {
  public static var attributeType: AttributeType { .date }
  /// Midnight UTC of 1970-01-01.
  @inlinable public static var attributeDefault: Date { Date(timeIntervalSince1970: 0) }
  /// The date rounded to the microsecond. A date outside of the range of stores becomes not-a-number, which validation
  /// refuses.
  @inlinable public var attributeValue: AttributeValue { Timestamp(self).map(AttributeValue.date) ?? .double(.nan) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .date(let value) = attributeValue else { return nil }
    self = value.date
  }
}

/// Stored exactly, before 1729 and after 2241 too, where a `Date` does not have every microsecond.
extension Timestamp: AttributeConvertible {
  public static var attributeType: AttributeType { .date }
  /// Midnight UTC of 1970-01-01.
  @inlinable public static var attributeDefault: Timestamp { Timestamp(microseconds: 0) }
  @inlinable public var attributeValue: AttributeValue { .date(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .date(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as a whole number of nanoseconds, in a 64-bit integer.
extension Duration: AttributeConvertible {
  /// Nanoseconds.
  public static var attributeType: AttributeType { .int64 }
  public static var attributeDefault: Duration { .zero }
  /// The number of nanoseconds, rounded to the nearest. A duration of more than 292 years becomes not-a-number, which
  /// validation refuses.
  public var attributeValue: AttributeValue {
    let half: Int64 = components.attoseconds < 0 ? -500_000_000 : 500_000_000
    let nanoseconds =
      Int128(components.seconds) * 1_000_000_000 + Int128((components.attoseconds + half) / 1_000_000_000)
    return Int64(exactly: nanoseconds).map(AttributeValue.int) ?? .double(.nan)
  }
  public init?(attributeValue: AttributeValue) {
    guard case .int(let value) = attributeValue else { return nil }
    self = .nanoseconds(value)
  }
}

/// Stored as 16 bytes, and compared byte by byte.
extension UUID: AttributeConvertible {
  public static var attributeType: AttributeType { .uuid }
  /// The nil UUID.
  @inlinable public static var attributeDefault: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  @inlinable public var attributeValue: AttributeValue { .uuid(self) }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard case .uuid(let value) = attributeValue else { return nil }
    self = value
  }
}

/// Stored as its absolute text, and compared by the text's bytes. A text that is assigned in place of a URL is stored
/// in the same form; see ``AttributeType/checked(_:)``. No condition finds a text that an earlier release has stored in
/// another form; the article about stores and migration shows how to write such texts again. The base of a relative URL
/// is not kept as a part of its own. Any other stored text than a URL converts to `nil`.
extension URL: AttributeConvertible {
  public static var attributeType: AttributeType { .url }
  @inlinable public static var attributeDefault: URL { URL(string: "about:blank")! }
  @inlinable public var attributeValue: AttributeValue { .string(absoluteString) }
  public init?(attributeValue: AttributeValue) {
    guard case .string(let text) = attributeValue, let url = URL(string: text) else { return nil }
    self = url
  }
}

/// Stored as the wrapped value, or as a missing value for `nil`. If the wrapped type refuses the stored value, the
/// conversion fails too: a faulty value does not pass for a missing value.
extension Optional: AttributeConvertible where Wrapped: AttributeConvertible {
  public typealias NonOptional = Wrapped.NonOptional
  public static var attributeType: AttributeType { Wrapped.attributeType }
  @inlinable public static var attributeDefault: Wrapped? { nil }
  @inlinable public var attributeValue: AttributeValue { self?.attributeValue ?? .null }
  @inlinable public init?(attributeValue: AttributeValue) {
    if case .null = attributeValue {
      self = .none
    } else if let value = Wrapped(attributeValue: attributeValue) {
      self = value
    } else {
      return nil
    }
  }
}

/// Enumerations are stored as their raw values. A raw value without a case, for example of a later version of the
/// program, converts to `nil`; accessors then return the model's default, or else the first case.
extension AttributeConvertible where Self: RawRepresentable & CaseIterable, RawValue: AttributeConvertible {
  public static var attributeType: AttributeType { .enumeration(Self.self) }
  @inlinable public static var attributeDefault: Self { allCases.first! }
  @inlinable public var attributeValue: AttributeValue { rawValue.attributeValue }
  @inlinable public init?(attributeValue: AttributeValue) {
    guard let raw = RawValue(attributeValue: attributeValue) else { return nil }
    self.init(rawValue: raw)
  }
}
