import CoherenceCore
public import Foundation

/// Decodes a record by an entity's attributes, without a type of its own:
///
/// ```swift
/// let page = try JSONDecoder().decode([MergeRecord].self, from: data, configuration: entity)
/// try context.merge(records: page, for: entity)
/// ```
///
/// What the source names is taken, an explicit null as a missing value; what the entity does not have is left out. Dates
/// and data come as the decoder's strategies say. A to-one relationship is given by its destination's key, a to-many
/// relationship by a list of keys; a key of several attributes, or a whole record that is nested, as an object with the
/// key's attributes.
extension MergeRecord: DecodableWithConfiguration {
  public typealias DecodingConfiguration = EntityDescription

  public init(from decoder: any Decoder, configuration entity: EntityDescription) throws {
    self.init([:])
    let container = try decoder.container(keyedBy: Name.self)
    for name in container.allKeys {
      switch entity.propertiesByName[name.stringValue] {
      case let attribute as AttributeDescription: values[attribute.name] = try container.value(of: attribute, name)
      case let relationship as RelationshipDescription:
        links[relationship.name] = try container.link(of: relationship, name)
      default: continue
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
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "The destination has no key."))
    }
  }
}

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
