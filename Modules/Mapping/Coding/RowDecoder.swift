import CoherenceCore

/// Decodes a model from the values of a row, by the keys of its fields: the general way to make one.
struct RowDecoder<Model: Codable & SendableMetatype>: Decoder {
  let row: Row
  let binding: BoundMapping<Model>
  let node: CodingNode
  var codingPath: [any CodingKey] = []
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard node.field == nil else { throw mismatch([String: String].self, "keys, where a field has one value") }
    return KeyedDecodingContainer(RowContainer(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw mismatch([String].self, "a list; make the field one of JSON")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard let field = node.field else { throw mismatch(String.self, "one value, where there are several fields") }
    return RowValueContainer(value: row[binding.slots[field]], codingPath: codingPath)
  }

  /// Decodes what is at this place.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    guard let field = node.field else { return try T(from: self) }
    let value = row[binding.slots[field]]
    if binding.mapping.fields[field].isJSON { return try JSONText.decoded(T.self, from: value) }
    return try RowValueContainer(value: value, codingPath: codingPath).decode(T.self)
  }

  /// Whether there is nothing at this place.
  var isNull: Bool {
    if let field = node.field { return row[binding.slots[field]].isNull }
    return node.children.keys.allSatisfy { child($0)?.isNull ?? true }
  }

  /// The decoder of what is behind a key.
  func child(_ key: String, _ codingKey: (any CodingKey)? = nil) -> RowDecoder? {
    node.children[key].map {
      RowDecoder(row: row, binding: binding, node: $0, codingPath: codingPath + [codingKey].compactMap { $0 })
    }
  }

  private func mismatch(_ type: Any.Type, _ wish: String) -> DecodingError {
    .typeMismatch(type, DecodingError.Context(codingPath: codingPath, debugDescription: "The model asks for \(wish)."))
  }
}

/// The fields of a model by their keys.
private struct RowContainer<Model: Codable & SendableMetatype, Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: RowDecoder<Model>

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { decoder.node.children.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { decoder.node.children[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try child(key).isNull }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try child(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try child(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try child(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { decoder }

  func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }

  private func child(_ key: Key) throws -> RowDecoder<Model> {
    guard let child = decoder.child(key.stringValue, key) else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: codingPath, debugDescription: "No field has that coding key; give it to one as `codingKey`."))
    }
    return child
  }
}
