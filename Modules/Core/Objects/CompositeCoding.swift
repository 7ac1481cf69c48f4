import Foundation

/// Converts a `Codable` structure to the parts of a composite and back, through a JSON object with the parts' names as
/// keys.
enum CompositeCoding {
  /// Returns the value of the parts in slots; `nil` when all parts are missing.
  static func decode<V: Decodable>(_ type: V.Type, from object: ManagedObject, slots: Range<Int>) throws -> V? {
    let parts = try slots.map { try object.loadedValue(at: $0) }
    guard parts.contains(where: { !$0.isNull }) else { return nil }
    var json: [String: Any] = [:]
    for (slot, value) in zip(slots, parts) {
      if let element = jsonElement(value) { json[partName(slot, of: object)] = element }
    }
    do {
      return try decoder.decode(V.self, from: try JSONSerialization.data(withJSONObject: json))
    } catch {
      throw CoherenceError(
        .wrongType,
        "The composite of '\(object.entity.name)' cannot be decoded as a \(V.self); "
          + "use a type with the parts' names and types.",
        underlying: error)
    }
  }

  /// Sets the parts in slots to those of a value. A missing value clears all parts. A value with a part that does not fit
  /// changes nothing.
  static func encode<V: Encodable>(_ value: V?, into object: ManagedObject, slots: Range<Int>) throws {
    var values = slots.map { _ in AttributeValue.null }
    if let value {
      var parts: [EncodedParts.Part] = []
      for slot in slots {
        guard case .attribute(let attribute) = object.entity.slots[slot] else { continue }
        parts.append(EncodedParts.Part(name: partName(slot, of: object), attribute: attribute))
      }
      do {
        let data = try encoder.encode(value)
        values = try decoder.decode(EncodedParts.self, from: data, configuration: parts).values
      } catch let error as CoherenceError {
        throw error
      } catch {
        throw CoherenceError(
          .wrongType,
          "A value cannot be encoded as a composite of '\(object.entity.name)'; use a type with the parts' names and "
            + "types.",
          underlying: error)
      }
    }
    try object.setValues(values, at: Array(slots))
  }

  private static func partName(_ slot: Int, of object: ManagedObject) -> String {
    String(object.entity.slots[slot].name.drop { $0 != "." }.dropFirst())
  }

  // JSON has no infinities, which are values of attributes. Not-a-number is encoded too, and the attribute refuses it.

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return encoder
  }

  private static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return decoder
  }

  /// The JSON element that Foundation's own encoder writes for a value.
  private static func jsonElement(_ value: AttributeValue) -> Any? {
    switch value {
    case .null, .reference: nil
    case .bool(let value): value
    case .int(let value): value
    case .double(let value) where !value.isFinite: value < 0 ? "-inf" : "inf"
    case .double(let value): value
    case .string(let value): value
    case .data(let value): value.base64EncodedString()
    case .date(let value): value.date.timeIntervalSinceReferenceDate
    case .uuid(let value): value.uuidString
    case .decimal(let value): NSDecimalNumber(decimal: value)
    }
  }
}

/// The values of a composite's parts, from the JSON object of an encoded structure.
///
/// Each part is decoded as its attribute's type. The numbers of `JSONSerialization` would not do: they round a decimal of
/// few digits to a double, and a double of many digits to a decimal.
private struct EncodedParts: DecodableWithConfiguration {
  /// A part, with its name in the object.
  struct Part {
    let name: String
    let attribute: AttributeDescription
  }

  let values: [AttributeValue]

  init(from decoder: any Decoder, configuration parts: [Part]) throws {
    let container = try decoder.container(keyedBy: Name.self)
    var values: [AttributeValue] = []
    for part in parts {
      do {
        values.append(try container.value(of: part.attribute, Name(stringValue: part.name)))
      } catch is DecodingError {
        throw CoherenceError(
          .wrongType,
          "A part of the composite does not fit the type of '\(part.attribute.name)'; encode a value of the "
            + "attribute's type.")
      }
    }
    self.values = values
  }

  fileprivate struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

extension KeyedDecodingContainer where Key == EncodedParts.Name {
  /// The value of a part; null for a missing part.
  fileprivate func value(of attribute: AttributeDescription, _ name: Key) throws -> AttributeValue {
    switch attribute.type.storage {
    case .bool: try decodeIfPresent(Bool.self, forKey: name).attributeValue
    case .int16, .int32, .int64: try decodeIfPresent(Int64.self, forKey: name).attributeValue
    case .float, .double: try decodeIfPresent(Double.self, forKey: name).attributeValue
    case .decimal: try decodeIfPresent(Decimal.self, forKey: name).attributeValue
    case .string: try decodeIfPresent(String.self, forKey: name).attributeValue
    case .data: try decodeIfPresent(Data.self, forKey: name).attributeValue
    case .date: try decodeIfPresent(Date.self, forKey: name).attributeValue
    case .uuid: try decodeIfPresent(UUID.self, forKey: name).attributeValue
    case .reference: .null
    }
  }
}
