import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let refusedValues = ConformanceSubject("Refused values") {
    refused("not-a-number as a double", "double", Double.nan, .invalidValue)
    refused("not-a-number as a float", "float", Float.nan, .invalidValue)
    refused("not-a-number as a decimal", "decimal", Decimal.nan, .invalidValue)
    refused("a number out of the range of a 16-bit integer", "int16", 32_768, .invalidValue)
    refused("a number below the range of a 16-bit integer", "int16", -32_769, .invalidValue)
    refused("a number out of the range of a 32-bit integer", "int32", 2_147_483_648, .invalidValue)
    refused("a double out of the range of a float", "float", 1e300, .invalidValue)
    refused("a text with the character U+0000", "string", "a\u{0}b", .invalidValue)
    refused("a value that is no case of its enumeration", "mood", "furious", .invalidValue)
    refused("a text for an integer", "int64", "1", .wrongType)
    refused("a text for a double", "double", "1", .wrongType)
    refused("a number for a text", "string", 1, .wrongType)
    refused("a number for a boolean", "bool", 1, .wrongType)
    refused("a boolean for an integer", "int32", true, .wrongType)
    refused("a fraction for an integer", "int64", 1.5, .wrongType)
    refused("an integer that no double can hold for a double", "double", Int64.max, .wrongType)
    refused("a text for data", "data", "a", .wrongType)
    refused("data for a text", "string", Data([65]), .wrongType)
    refused("a text for a date", "date", "2001-01-01", .wrongType)
    refused("a number for a date", "date", 0.0, .wrongType)
    refused("a text for a UUID", "uuid", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", .wrongType)
    refused("a UUID for data", "data", UUID(), .wrongType)
    refused("a number for an enumeration of texts", "mood", 1, .wrongType)
    refused("a date that no store can keep", "date", Date(timeIntervalSince1970: 1e18), .wrongType, .invalidValue)
  }

  /// A value is refused when it is assigned, by a message without the value, and nothing changes.
  private static func refused(
    _ what: String, _ attribute: String, _ value: some AttributeConvertible, _ codes: ErrorCode...
  ) -> Case {
    Case("\(what) is refused", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample", ["name": "kept"]) }
      try stack.write { context in
        let sample = try context.one("Sample")
        let error = try expectThrows(oneOf: codes) { try sample.setValue(value, for: attribute) }
        try expect(error.message.contains(attribute), "the message to name the attribute")
        if let text = value as? String, text.count > 3 {
          try expect(!"\(error)".contains(text), "the message not to contain the value")
        }
        try expect(!sample.hasChanges, "no change")
        try expectEqual(try sample.value(for: attribute), .null)
      }
    }
  }
}
