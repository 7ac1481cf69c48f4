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
      return try JSONDecoder().decode(V.self, from: try JSONSerialization.data(withJSONObject: json))
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
    var json: [String: Any] = [:]
    if let value {
      let data = try JSONEncoder().encode(value)
      json = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
    let values = try slots.map { slot -> AttributeValue in
      guard case .attribute(let attribute) = object.entity.slots[slot] else { return .null }
      return try attributeValue(json[partName(slot, of: object)], for: attribute)
    }
    try object.setValues(values, at: Array(slots))
  }

  private static func partName(_ slot: Int, of object: ManagedObject) -> String {
    String(object.entity.slots[slot].name.drop { $0 != "." }.dropFirst())
  }

  /// The JSON element that Foundation's own encoder writes for a value.
  private static func jsonElement(_ value: AttributeValue) -> Any? {
    switch value {
    case .null, .reference: nil
    case .bool(let value): value
    case .int(let value): value
    case .double(let value): value
    case .string(let value): value
    case .data(let value): value.base64EncodedString()
    case .date(let value): value.date.timeIntervalSinceReferenceDate
    case .uuid(let value): value.uuidString
    case .decimal(let value): NSDecimalNumber(decimal: value)
    }
  }

  /// The value of a number; `nil` for a fraction, and for a number beyond 64 bits.
  private static func integer(_ number: NSNumber) -> Int64? {
    // JSON numbers with a fraction or an exponent, and those beyond 64 bits, are doubles.
    if ["d", "f"].contains(String(cString: number.objCType)) { return Int64(exactly: number.doubleValue) }
    return NSNumber(value: number.int64Value) == number ? number.int64Value : nil
  }

  private static func attributeValue(_ element: Any?, for attribute: AttributeDescription) throws -> AttributeValue {
    guard let element, !(element is NSNull) else { return .null }
    let value: AttributeValue? =
      switch attribute.type.storage {
      case .bool: (element as? Bool).map(AttributeValue.bool)
      case .int16, .int32, .int64: (element as? NSNumber).flatMap(integer).map(AttributeValue.int)
      case .float, .double: (element as? NSNumber).map { .double($0.doubleValue) }
      case .decimal: (element as? NSNumber).map { .decimal($0.decimalValue) }
      case .string: (element as? String).map(AttributeValue.string)
      case .data: (element as? String).flatMap { Data(base64Encoded: $0) }.map(AttributeValue.data)
      case .date:
        (element as? NSNumber).flatMap {
          Timestamp(Date(timeIntervalSinceReferenceDate: $0.doubleValue))
        }.map(AttributeValue.date)
      case .uuid: (element as? String).flatMap(UUID.init(uuidString:)).map(AttributeValue.uuid)
      case .reference: nil
      }
    guard let value else {
      throw CoherenceError(
        .wrongType,
        "A part of the composite does not fit the type of '\(attribute.name)'; encode a value of the attribute's type.")
    }
    return value
  }
}
