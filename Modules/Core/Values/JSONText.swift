import Foundation

/// The JSON text in which rows keep values of `Codable` types. Keys are sorted, and so are the elements of a set and
/// the entries of a dictionary, so that equal values have equal texts. A set inside of another value has its own order,
/// which differs from process to process.
package enum JSONText {
  package static func encode<Value: Encodable>(_ value: Value) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try text(of: value, encoder)
  }

  fileprivate static func text<Value: Encodable>(of value: Value, _ encoder: JSONEncoder) throws -> String {
    if let texts = try (value as? any UnorderedCollection)?.sortedTexts(encoder) {
      return "[\(texts.joined(separator: ","))]"
    }
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Returns the value of an attribute. A missing value becomes null instead of the text `null`, so that predicates can
  /// test for it.
  package static func attributeValue<Value: Encodable>(of value: Value) throws -> AttributeValue {
    let text = try encode(value)
    return text == "null" ? .null : .string(text)
  }

  /// Decodes the value of an attribute. A value without text is decoded like the JSON value `null`.
  package static func decode<Value: Decodable>(_ type: Value.Type, from value: AttributeValue) throws -> Value {
    let text =
      switch value {
      case .string(let text): text
      default: "null"
      }
    return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }
}

/// A collection whose encoding is a list without an order of its own.
private protocol UnorderedCollection {
  /// The texts of the list, in an order that depends on the texts alone; `nil` for a collection encoded with keys.
  func sortedTexts(_ encoder: JSONEncoder) throws -> [String]?
}

extension Set: UnorderedCollection where Element: Encodable {
  fileprivate func sortedTexts(_ encoder: JSONEncoder) throws -> [String]? {
    try map { try JSONText.text(of: $0, encoder) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}

/// A dictionary with keys other than texts and whole numbers is encoded as a list of alternating keys and values.
extension Dictionary: UnorderedCollection where Key: Encodable, Value: Encodable {
  fileprivate func sortedTexts(_ encoder: JSONEncoder) throws -> [String]? {
    if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type { return nil }
    return try map { (try JSONText.text(of: $0.key, encoder), try JSONText.text(of: $0.value, encoder)) }
      .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
      .flatMap { [$0.0, $0.1] }
  }
}
