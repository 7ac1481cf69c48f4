import Foundation

/// The JSON text in which rows keep values of `Codable` types. Keys are sorted, so that equal values have equal texts.
package enum JSONText {
  package static func encode<Value: Encodable>(_ value: Value) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
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
