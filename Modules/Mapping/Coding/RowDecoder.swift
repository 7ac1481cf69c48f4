import CoherenceCore

/// A decoder of a record, or of the part of a record below one coding key.
struct RowDecoder: Decoder {
  let row: any DecodedRow
  let node: CodingNode
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard node.field == nil else { throw mismatch([String: String].self, "keys, but the field has one value") }
    return KeyedDecodingContainer(RowContainer(row: row, node: node, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw mismatch([String].self, "a list; make the field one of JSON")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard let field = node.field else { throw mismatch(String.self, "one value, but the key has several fields") }
    return RowValueContainer(value: row.value(field), codingPath: codingPath)
  }

  private func mismatch(_ type: Any.Type, _ request: String) -> DecodingError {
    .typeMismatch(
      type, DecodingError.Context(codingPath: codingPath, debugDescription: "The model asks for \(request)."))
  }
}
