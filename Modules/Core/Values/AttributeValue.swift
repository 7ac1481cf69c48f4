public import Foundation

/// One value of a record, in the form of rows and stores.
///
/// The framework detects changed values by equality. Strings are compared by their UTF-8 bytes, numbers by value
/// (`-0.0` equals `0.0`), dates by microsecond.
public enum AttributeValue: Sendable {
  /// A missing value of an optional property.
  case null
  /// A truth value; never an integer, on any store.
  case bool(Bool)
  /// Every integer type of the model.
  case int(Int64)
  /// `Double`, and `Float` widened.
  case double(Double)
  /// A text without U+0000, with any sequence of characters: no store changes its Unicode normalization.
  case string(String)
  /// Bytes of any number, zero included.
  case data(Data)
  /// A point in time, in microseconds.
  case date(Timestamp)
  /// A UUID, compared byte by byte.
  case uuid(UUID)
  /// A decimal number, compared by its value: 1.0 equals 1.
  case decimal(Decimal)
  /// The target of a to-one relationship, whether or not its record exists.
  case reference(ManagedObjectID)

  /// Whether the value is missing.
  @inlinable public var isNull: Bool {
    if case .null = self { return true }
    return false
  }
}

extension AttributeValue: Hashable {
  /// Whether two values have the same kind and are equal. An integer never equals a double or a decimal with the same
  /// number; ``order(to:)`` compares numbers of different kinds.
  public static func == (left: AttributeValue, right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.data(let a), .data(let b)): a == b
    case (.date(let a), .date(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.decimal(let a), .decimal(let b)): a == b
    case (.reference(let a), .reference(let b)): a == b
    default: false
    }
  }

  /// Hashes the value without its kind; a text by its UTF-8 bytes, and data by all of its bytes.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .int(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(var value): value.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    // Foundation hashes the first 80 bytes of data, which all values of a unique attribute may have in common.
    case .data(let value): value.withUnsafeBytes { hasher.combine(bytes: $0) }
    case .date(let value): hasher.combine(value)
    case .uuid(let value): hasher.combine(value)
    case .decimal(let value): value.hashDigits(into: &hasher)
    case .reference(let value): hasher.combine(value)
    }
  }
}

extension String {
  /// Whether two texts have the same UTF-8 bytes. The operator `==` compares by Unicode's canonical equivalence
  /// instead.
  @inlinable package func hasSameBytes(as other: String) -> Bool {
    var left = self
    var right = other
    return left.withUTF8 { a in
      right.withUTF8 { b in
        a.count == b.count && (a.count == 0 || memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0)
      }
    }
  }

  /// The order of two texts by their UTF-8 bytes: negative, zero or positive.
  package func byteOrder(to other: String) -> Int {
    var left = self
    var right = other
    return left.withUTF8 { a in
      right.withUTF8 { b in
        let common = min(a.count, b.count)
        let order = common == 0 ? 0 : Int(memcmp(a.baseAddress!, b.baseAddress!, common))
        return order != 0 ? order : a.count - b.count
      }
    }
  }
}

/// A point in time with the precision of stores: microseconds since 1970-01-01 00:00:00 UTC.
///
/// An attribute of dates can be read and written as timestamps, for example with `AttributeKey<Timestamp>`. Unlike a
/// `Date`, a timestamp has every microsecond of its range of about 292,000 years before and after 1970.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Microseconds since 1970-01-01 00:00:00 UTC; negative before.
  public let microseconds: Int64

  /// Makes a point in time from microseconds since 1970-01-01 00:00:00 UTC; negative before.
  @inlinable public init(microseconds: Int64) { self.microseconds = microseconds }

  /// The nearest microsecond to a date; `nil` for a date about 291,500 years or more from 1970.
  @inlinable public init?(_ date: Date) {
    let value = (date.timeIntervalSince1970 * 1_000_000).rounded()
    guard value.magnitude < 9.2e18 else { return nil }
    microseconds = Int64(value)
  }

  /// A date whose nearest microsecond is this time, or else one of the nearest dates: before 1729 and after 2241 some
  /// microseconds are nearest to no date.
  @inlinable public var date: Date {
    let date = Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    // From 1866 to 2074 neighbouring dates are less than half a microsecond apart, so that the date rounds to this
    // microsecond.
    return microseconds.magnitude < 3_300_000_000_000_000 ? date : neighbor(of: date)
  }

  /// Returns the date or one of its four nearest dates, the one that rounds to this microsecond, so that a date read
  /// from a store is stored as the same value again. Returns the date itself if none of the five rounds to it.
  @usableFromInline func neighbor(of date: Date) -> Date {
    let interval = date.timeIntervalSinceReferenceDate
    // Dates count from 2001 and are rounded by their interval since 1970, whose neighbours may be twice as far apart.
    let intervals = [interval, interval.nextUp, interval.nextDown, interval.nextUp.nextUp, interval.nextDown.nextDown]
    let candidates = intervals.map(Date.init(timeIntervalSinceReferenceDate:))
    return candidates.first { Timestamp($0) == self } ?? date
  }

  /// Whether the first time is earlier than the second.
  @inlinable public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }
}
