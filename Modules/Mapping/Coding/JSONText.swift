import CoherenceCore
import Foundation

/// Values that are kept as JSON text. Keys are sorted, so that equal values have equal texts.
enum JSONText {
  static func encoded<Value: Encodable>(_ value: Value) throws -> AttributeValue {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    // A missing value is kept as one, so that a condition can ask for it.
    return text == "null" ? .null : .string(text)
  }

  static func decoded<Value: Decodable>(_ type: Value.Type, from value: AttributeValue) throws -> Value {
    let text =
      switch value {
      case .string(let text): text
      default: "null"
      }
    return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }
}
