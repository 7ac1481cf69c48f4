import CoherenceCore

/// A decoding container with the values of a record by coding key.
struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: any DecodedRow
  let node: CodingNode
  let codingPath: [any CodingKey]

  var allKeys: [Key] { node.children.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { node.children[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { isNull(try child(key)) }

  /// Whether all fields below a node are null.
  private func isNull(_ node: CodingNode) -> Bool {
    if let field = node.field { return row.value(field).isNull }
    return node.children.values.allSatisfy(isNull)
  }

  private func child(_ key: Key) throws -> CodingNode {
    if let child = node.children[key.stringValue] { return child }
    throw DecodingError.keyNotFound(
      key,
      DecodingError.Context(
        codingPath: codingPath, debugDescription: "No field has this coding key; pass it to a field as `codingKey`."))
  }

  private func decoder(_ key: Key) throws -> RowDecoder {
    RowDecoder(row: row, node: try child(key), codingPath: codingPath + [key])
  }

  // MARK: Values

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let child = try child(key)
    guard let field = child.field else { return try T(from: decoder(key)) }
    let value = row.value(field)
    if row.isJSON(field) { return try decodeJSON(value, key) }
    return try RowValueContainer(value: value, codingPath: codingPath + [key]).decode(T.self)
  }

  /// Decodes the JSON text of a field. The error names the field and no place in the text: a key of the text may be a
  /// value of the record.
  private func decodeJSON<T: Decodable>(_ value: AttributeValue, _ key: Key) throws -> T {
    do {
      return try JSONText.decode(T.self, from: value)
    } catch let error as DecodingError {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: codingPath + [key], debugDescription: "The JSON text does not fit the type of the field.",
          underlyingError: error))
    }
  }

  // Overloads for the most frequent types skip the dynamic casts of the generic form.

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try plain(key) }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try plain(key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try plain(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try plain(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try plain(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try plain(key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try plain(key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try plain(key) }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try plainIfPresent(key) }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try plainIfPresent(key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try plainIfPresent(key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try plainIfPresent(key) }

  @inline(__always)
  private func plain<T: AttributeConvertible & Decodable>(_ key: Key) throws -> T {
    let child = try child(key)
    if let field = child.field, !row.isJSON(field), let value = T(attributeValue: row.value(field)) { return value }
    return try decodeGenerically(key)
  }

  @inline(__always)
  private func plainIfPresent<T: AttributeConvertible & Decodable>(_ key: Key) throws -> T? {
    guard let child = node.children[key.stringValue], !isNull(child) else { return nil }
    return try plain(key)
  }

  /// Decodes a value through the generic form: of a JSON field, or after a direct conversion failed.
  private func decodeGenerically<T: Decodable>(_ key: Key) throws -> T { try decode(T.self, forKey: key) }

  // MARK: Parts

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { RowDecoder(row: row, node: node, codingPath: codingPath) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}
