/// Encodes the values of a snapshot by the keys of its properties, in the form that ``SnapshotDecoder`` decodes. To be
/// used within the `encode(to:)` of a snapshot type.
///
/// Missing values are left out, as the compiler's own coding leaves `nil` out.
public struct SnapshotEncoder {
  private var container: KeyedEncodingContainer<SnapshotCodingKey>

  /// Makes an encoder of the properties of one snapshot.
  public init(_ encoder: any Encoder) { container = encoder.container(keyedBy: SnapshotCodingKey.self) }

  /// Encodes the record's identifier.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for a temporary identifier; set the snapshot's `objectID` to `nil` to
  ///   encode the values of an unsaved object.
  public mutating func encode(objectID: ManagedObjectID?) throws {
    try container.encodeIfPresent(objectID, forKey: .objectID)
  }

  /// Encodes an attribute.
  ///
  /// - Throws: Errors of the encoder.
  public mutating func encode<Value>(_ value: Value, _ key: AttributeKey<Value>) throws {
    try container.encode(value.attributeValue, forKey: SnapshotCodingKey(key.name))
  }

  /// Encodes a `codable` attribute by its own coding.
  ///
  /// - Throws: Errors of the type's own coding.
  public mutating func encode<Value>(_ value: Value, _ key: CodableKey<Value>) throws {
    try container.encode(value, forKey: SnapshotCodingKey(key.name))
  }

  /// Encodes a composite as a nested container. A composite whose parts are all missing is left out.
  ///
  /// - Throws: Errors of the encoder.
  public mutating func encode<Value>(_ value: Value, _ key: CompositeKey<Value>) throws {
    var parts = CompositeWriter()
    value.write(to: &parts)
    guard parts.values.contains(where: { !$0.isNull }) else { return }
    var nested = container.nestedContainer(keyedBy: SnapshotCodingKey.self, forKey: SnapshotCodingKey(key.name))
    for (part, value) in zip(Value.compositeParts, parts.values) {
      try nested.encode(value, forKey: SnapshotCodingKey(part.name))
    }
  }

  /// Encodes the identifier of the target of a to-one relationship.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for a temporary identifier.
  public mutating func encode<Target>(_ target: ManagedObjectID?, _ key: ToOneKey<Target>) throws {
    try container.encodeIfPresent(target, forKey: SnapshotCodingKey(key.name))
  }
}

extension KeyedEncodingContainer<SnapshotCodingKey> {
  /// Encodes a value as the Swift type of its case; leaves null out.
  fileprivate mutating func encode(_ value: AttributeValue, forKey key: Key) throws {
    switch value {
    case .null: break
    case .bool(let value): try encode(value, forKey: key)
    case .int(let value): try encode(value, forKey: key)
    case .double(let value): try encode(value, forKey: key)
    case .string(let value): try encode(value, forKey: key)
    case .data(let value): try encode(value, forKey: key)
    case .date(let value): try encode(value.date, forKey: key)
    case .uuid(let value): try encode(value, forKey: key)
    case .decimal(let value): try encode(value, forKey: key)
    case .reference(let value): try encode(value, forKey: key)
    }
  }
}
