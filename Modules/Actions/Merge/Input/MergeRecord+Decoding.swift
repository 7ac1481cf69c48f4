public import CoherenceCore
public import Foundation

/// Decodes a record by an entity's attributes, without a type for the record:
///
/// ```swift
/// let page = try JSONDecoder().decode([MergeRecord].self, from: data, configuration: entity)
/// try context.merge(records: page, for: entity)
/// ```
///
/// A property that the source does not contain keeps its stored value, and an explicit null clears the property. Names
/// without a property of the entity are skipped, because a service may add names at any time. Derived attributes are
/// skipped too, because saves compute their values. The decoder's strategies decide about dates and data. A `codable`
/// attribute takes any JSON, and a composite takes an object with its parts. A to-one relationship takes its
/// destination's key, and a to-many relationship takes a list of keys. A key of several attributes is an object with
/// these attributes; a nested record has them too.
extension MergeRecord: DecodableWithConfiguration {
  public typealias DecodingConfiguration = EntityDescription

  public init(from decoder: any Decoder, configuration entity: EntityDescription) throws {
    self.init([:])
    let container = try decoder.container(keyedBy: Name.self)
    for name in container.allKeys {
      switch entity.propertiesByName[name.stringValue] {
      case let attribute as AttributeDescription:
        if attribute.derivation != nil, !EntityUniqueness(entity: entity).attributes.contains(attribute.name) {
          continue
        }
        values[attribute.name] = try container.value(of: attribute, name)
      case let relationship as RelationshipDescription:
        links[relationship.name] = try container.link(of: relationship, name)
      default:
        guard let slots = entity.composites[name.stringValue] else { continue }
        try decodeParts(of: slots.map { entity.slots[$0] }, at: name, from: container)
      }
    }
  }

  /// Decodes the parts of a composite, `composite.part`, from an object with the names of the parts. A null clears all parts.
  private mutating func decodeParts(
    of slots: [Slot], at name: Name, from container: KeyedDecodingContainer<Name>
  ) throws {
    let isNull = try container.decodeNil(forKey: name)
    let parts = try isNull ? nil : container.nestedContainer(keyedBy: Name.self, forKey: name)
    for case .attribute(let attribute) in slots {
      let part = Name(stringValue: String(attribute.name.dropFirst(name.stringValue.count + 1)))
      if let parts {
        if parts.contains(part) { values[attribute.name] = try parts.value(of: attribute, part) }
      } else {
        let null: any AttributeConvertible = String?.none
        values[attribute.name] = null
      }
    }
  }

  fileprivate struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

extension KeyedDecodingContainer where Key == MergeRecord.Name {
  fileprivate func value(of attribute: AttributeDescription, _ name: Key) throws -> any AttributeConvertible {
    if case .codable = attribute.type { return try jsonText(name) }
    return try plainValue(of: attribute, name)
  }

  private func jsonText(_ name: Key) throws -> String? {
    try decodeIfPresent(JSONElement.self, forKey: name).map { try JSONText.encode($0) }
  }

  private func plainValue(of attribute: AttributeDescription, _ name: Key) throws -> any AttributeConvertible {
    switch attribute.type.storage {
    case .int16, .int32, .int64, .reference: try decodeIfPresent(Int64.self, forKey: name)
    case .double, .float: try decodeIfPresent(Double.self, forKey: name)
    case .bool: try decodeIfPresent(Bool.self, forKey: name)
    case .string: try decodeIfPresent(String.self, forKey: name)
    case .data: try decodeIfPresent(Data.self, forKey: name)
    case .date: try decodeIfPresent(Date.self, forKey: name)
    case .uuid: try decodeIfPresent(UUID.self, forKey: name)
    case .decimal: try decodeIfPresent(Decimal.self, forKey: name)
    }
  }

  fileprivate func link(of relationship: RelationshipDescription, _ name: Key) throws -> MergeLink {
    let destination = relationship.destination
    let names = EntityUniqueness(entity: destination).attributes
    let attributes = names.compactMap { destination.attribute(named: $0) }
    if try decodeNil(forKey: name) { return relationship.isToMany ? .many([]) : .none }
    guard relationship.isToMany else {
      return .one(try decode(DecodedKey.self, forKey: name, configuration: attributes).key)
    }
    return .many(try decode([DecodedKey].self, forKey: name, configuration: attributes).map(\.key))
  }
}

/// The key of a relationship's destination.
private struct DecodedKey: DecodableWithConfiguration {
  let key: MergeKey

  init(from decoder: any Decoder, configuration attributes: [AttributeDescription]) throws {
    if let container = try? decoder.container(keyedBy: MergeRecord.Name.self) {
      key = MergeKey(
        values: try attributes.map { attribute in
          try container.value(of: attribute, MergeRecord.Name(stringValue: attribute.name)).attributeValue
        })
    } else if let attribute = attributes.first {
      let single = SingleValue(try decoder.singleValueContainer())
      key = MergeKey(values: [try single.value(of: attribute)])
    } else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath, debugDescription: "The destination of the relationship has no key."))
    }
  }
}

/// The source of a key of one attribute, with a value of the attribute's type.
private struct SingleValue {
  private let container: any SingleValueDecodingContainer

  init(_ container: any SingleValueDecodingContainer) { self.container = container }

  func value(of attribute: AttributeDescription) throws -> AttributeValue {
    switch attribute.type.storage {
    case .int16, .int32, .int64, .reference: try container.decode(Int64.self).attributeValue
    case .double, .float: try container.decode(Double.self).attributeValue
    case .bool: try container.decode(Bool.self).attributeValue
    case .string: try container.decode(String.self).attributeValue
    case .data: try container.decode(Data.self).attributeValue
    case .date: try container.decode(Date.self).attributeValue
    case .uuid: try container.decode(UUID.self).attributeValue
    case .decimal: try container.decode(Decimal.self).attributeValue
    }
  }
}
