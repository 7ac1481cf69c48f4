import Foundation

/// Decodes the values of a snapshot by the keys of its properties: the names of properties are the keys of the coded
/// form, and a composite is nested. To be used within the `init(from:)` of a snapshot type.
///
/// Types of attributes need not be `Codable`: they are decoded by their stored form, and dates, data and numbers in the
/// manner of the decoder.
public struct SnapshotDecoder {
  private let container: KeyedDecodingContainer<SnapshotCodingKey>

  /// - Throws: Errors of the decoder.
  public init(_ decoder: any Decoder) throws { container = try decoder.container(keyedBy: SnapshotCodingKey.self) }

  /// Decodes the record's identifier; `nil` for none.
  ///
  /// - Throws: As `ManagedObjectID.init(from:)`.
  public func decodeObjectID() throws -> ManagedObjectID? {
    try container.decodeIfPresent(ManagedObjectID.self, forKey: .objectID)
  }

  /// Decodes an attribute.
  ///
  /// - Throws: `DecodingError` for a missing value of a required type, and for a value that the type refuses.
  public func decode<Value>(_ key: AttributeKey<Value>) throws -> Value {
    let name = SnapshotCodingKey(key.name)
    let stored = try container.attributeValue(forKey: name, as: Value.attributeType.storage)
    if let value = Value(attributeValue: stored) { return value }
    if stored.isNull {
      throw DecodingError.keyNotFound(
        name, .init(codingPath: container.codingPath, debugDescription: "The property '\(key.name)' has no value."))
    }
    throw DecodingError.dataCorruptedError(
      forKey: name, in: container, debugDescription: "The value of '\(key.name)' does not fit \(Value.self).")
  }

  /// Decodes a `codable` attribute. A missing value is the key's default.
  ///
  /// - Throws: Errors of the type's own decoding.
  public func decode<Value>(_ key: CodableKey<Value>) throws -> Value {
    try container.decodeIfPresent(Value.self, forKey: SnapshotCodingKey(key.name)) ?? key.defaultValue
  }

  /// Decodes a composite. Missing parts read as defaults.
  ///
  /// - Throws: `DecodingError` for parts of another type.
  public func decode<Value>(_ key: CompositeKey<Value>) throws -> Value {
    let name = SnapshotCodingKey(key.name)
    var values: [AttributeValue] = []
    let parts = Value.compositeParts
    if container.contains(name), try !container.decodeNil(forKey: name) {
      let nested = try container.nestedContainer(keyedBy: SnapshotCodingKey.self, forKey: name)
      values = try parts.map { try nested.attributeValue(forKey: SnapshotCodingKey($0.name), as: $0.type.storage) }
    }
    var reader = CompositeReader(values, defaults: parts.map(\.defaultValue))
    return Value(reading: &reader)
  }

  /// Decodes the identifier of the target of a to-one relationship; `nil` for none.
  ///
  /// - Throws: As `ManagedObjectID.init(from:)`.
  public func decode<Target>(_ key: ToOneKey<Target>) throws -> ManagedObjectID? {
    try container.decodeIfPresent(ManagedObjectID.self, forKey: SnapshotCodingKey(key.name))
  }
}

/// The name of a property as a coding key.
struct SnapshotCodingKey: CodingKey {
  static let objectID = SnapshotCodingKey("objectID")
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer<SnapshotCodingKey> {
  /// The value of a key, decoded as a type of the storage; null for a missing value.
  fileprivate func attributeValue(forKey key: Key, as storage: StorageType) throws -> AttributeValue {
    guard contains(key), try !decodeNil(forKey: key) else { return .null }
    switch storage {
    case .bool: return .bool(try decode(Bool.self, forKey: key))
    case .int16, .int32, .int64: return .int(try decode(Int64.self, forKey: key))
    case .float, .double: return .double(try decode(Double.self, forKey: key))
    case .decimal: return .decimal(try decode(Decimal.self, forKey: key))
    case .string: return .string(try decode(String.self, forKey: key))
    case .data: return .data(try decode(Data.self, forKey: key))
    case .uuid: return .uuid(try decode(UUID.self, forKey: key))
    case .reference: return .reference(try decode(ManagedObjectID.self, forKey: key))
    case .date:
      guard let date = Timestamp(try decode(Date.self, forKey: key)) else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: self, debugDescription: "The date lies further from 1970 than 291,500 years.")
      }
      return .date(date)
    }
  }
}
