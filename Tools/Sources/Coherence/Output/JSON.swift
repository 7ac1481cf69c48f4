import CoherenceCore
import CoherenceOutbox
import Foundation

/// A JSON value. Objects include the keys of missing values, so that a reader can rely on every key.
enum JSON: Encodable, Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .object(let values): try container.encode(values)
    }
  }

  /// The text with sorted keys: on one line, or on several.
  func text(isPretty: Bool) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    let text = String(decoding: try encoder.encode(self), as: UTF8.self)
    // The encoder escapes the control characters below U+0020 only. The others stand in strings only.
    guard text.unicodeScalars.contains(where: Self.isLateControl) else { return text }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
      if Self.isLateControl(scalar) {
        result += "\\u00" + String(scalar.value, radix: 16)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }

  /// Whether the character is a control character from U+007F to U+009F, some of which are commands for terminals.
  private static func isLateControl(_ scalar: Unicode.Scalar) -> Bool { (0x7F...0x9F).contains(scalar.value) }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  init(stringLiteral value: String) { self = .string(value) }
  init(arrayLiteral elements: JSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
  }
}

extension JSON {
  static func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
  static func date(_ value: Date?) -> JSON { .text(value?.precise) }
  static func number(_ value: Int) -> JSON { .int(Int64(value)) }
  static func uuid(_ value: UUID?) -> JSON { .text(value?.uuidString) }

  /// Makes the JSON for a value of a record. Data is coded in Base64. Dates, UUIDs, decimal numbers, and numbers
  /// without a form in JSON are strings.
  init(_ value: AttributeValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .double(let value): self = value.isFinite ? .double(value) : .string("\(value)")
    case .string(let value): self = .string(value)
    case .data(let value): self = .string(value.base64EncodedString())
    case .date(let value): self = .string(value.date.precise)
    case .uuid(let value): self = .string(value.uuidString)
    case .decimal(let value): self = .string("\(value)")
    case .reference(let id): self = .string(id.description)
    }
  }

  /// Makes the JSON for a value of an entry: a related record is an object with its entity and key, and an omitted
  /// value is an object with its size.
  init(_ value: OutboxValue?) {
    switch value {
    case nil: self = .null
    case .value(let value)?: self = JSON(value)
    case .record(let record)?: self = JSON(record)
    case .omitted(let byteCount)?: self = ["omittedBytes": .number(byteCount)]
    }
  }

  init(_ record: OutboxRecord) { self = ["entity": .string(record.rootName), "key": .int(record.key)] }

  /// Returns the text of a value in a table.
  var cell: String {
    switch self {
    case .null: "–"
    case .string(let text): text
    default: (try? text(isPretty: false)) ?? ""
    }
  }
}

extension Date {
  /// The date with milliseconds, in UTC.
  var precise: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
  /// The date with seconds, in UTC.
  var short: String { formatted(Date.ISO8601FormatStyle()) }
}
