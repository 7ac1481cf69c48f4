import CoherenceCore
import Foundation

/// A decoding container with one value of a row.
struct RowValueContainer: SingleValueDecodingContainer {
  let value: AttributeValue
  let codingPath: [any CodingKey]

  func decodeNil() -> Bool { value.isNull }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // The frequent types first, because the dynamic casts for other types take far longer.
    if T.self == Date.self { return try plain(Date.self, as: T.self) }
    if T.self == UUID.self { return try plain(UUID.self, as: T.self) }
    if T.self == Data.self { return try plain(Data.self, as: T.self) }
    if let convertible = T.self as? any AttributeConvertible.Type {
      guard let value = convertible.init(attributeValue: value) as? T else { throw mismatch(type) }
      return value
    }
    if let integer = T.self as? any FixedWidthInteger.Type {
      guard case .int(let number) = value, let result = integer.init(exactly: number) as? T else {
        throw mismatch(type)
      }
      return result
    }
    return try T(from: RowValueDecoder(container: self))
  }

  private func plain<Plain: AttributeConvertible, T>(_ plain: Plain.Type, as type: T.Type) throws -> T {
    guard let value = Plain(attributeValue: value) as? T else { throw mismatch(type) }
    return value
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(
      type, DecodingError.Context(codingPath: codingPath, debugDescription: "The value is a \(value.typeName)."))
  }
}

/// A decoder for types that decode themselves from one value, such as enumerations with raw values.
private struct RowValueDecoder: Decoder {
  let container: RowValueContainer

  var codingPath: [any CodingKey] { container.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func singleValueContainer() -> any SingleValueDecodingContainer { container }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw mismatch }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw mismatch }

  private var mismatch: DecodingError {
    .typeMismatch(
      [String: String].self,
      DecodingError.Context(
        codingPath: codingPath,
        debugDescription: "The field has one value; make it a JSON field for a type with several values."))
  }
}
