import CoherenceCore
package import Foundation

/// Reads and writes the values of attributes as texts of a file.
package enum ValueText {
  /// The value that a text of the file means; `nil` for a text that the type does not have.
  static func value(_ text: String, _ type: AttributeType) -> AttributeValue? {
    switch type.storage {
    case .int16, .int32, .int64: return integer(text).map(AttributeValue.int)
    case .bool: return boolean(text).map(AttributeValue.bool)
    case .float, .double: return Double(text).flatMap { $0.isNaN ? nil : .double($0) }
    case .decimal: return decimal(text).map(AttributeValue.decimal)
    case .string: return .string(text)
    case .uuid: return UUID(uuidString: text).map(AttributeValue.uuid)
    case .date: return date(text).map(AttributeValue.date)
    case .data: return Data(base64Encoded: text).map(AttributeValue.data)
    case .reference: return nil
    }
  }

  /// The text of a value; `nil` for a missing value and for a reference.
  static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .null, .reference: nil
    case .bool(let value): value ? "YES" : "NO"
    case .int(let value): String(value)
    case .double(let value): String(value)
    case .string(let value): value
    case .data(let value): value.base64EncodedString()
    case .uuid(let value): value.uuidString
    case .decimal(let value): "\(value)"
    case .date(let value): seconds(value)
    }
  }

  /// An integer, also one with a fraction of zero such as `2.0`.
  package static func integer(_ text: String) -> Int64? { Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) } }

  package static func boolean(_ text: String) -> Bool? {
    switch text.uppercased() {
    case "YES", "TRUE", "1": true
    case "NO", "FALSE", "0": false
    default: nil
    }
  }

  /// A decimal number without any other characters. Foundation would read the beginning of `1-2` and ignore the rest.
  package static func decimal(_ text: String) -> Decimal? {
    guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }), Double(text) != nil else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }

  /// Seconds from 1970 to 2001, where the dates of files begin.
  private static let epoch: Int64 = 978_307_200

  private static func date(_ text: String) -> Timestamp? {
    guard var scaled = decimal(text).map({ ($0 + Decimal(epoch)) * 1_000_000 }) else { return nil }
    guard scaled.magnitude < Decimal(9_000_000_000_000_000_000) else { return nil }
    var rounded = Decimal()
    NSDecimalRound(&rounded, &scaled, 0, .plain)
    return Int64("\(rounded)").map(Timestamp.init(microseconds:))
  }

  private static func seconds(_ date: Timestamp) -> String {
    "\(Decimal(date.microseconds) / 1_000_000 - Decimal(epoch))"
  }
}
