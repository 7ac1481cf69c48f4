import CoherenceCore
import Foundation

extension MergeRecord {
  /// A record with the stored properties of a value, by their names: a structure that was decoded from what a server
  /// sent, say.
  ///
  /// Properties that the entity does not have are left out. An attribute takes a value of a type that attributes have, or
  /// nothing; a `codable` attribute takes any value that can be encoded. A to-one relationship takes its destination's
  /// key, a to-many relationship a list of them; where a key has several attributes, or a whole record is nested, a value
  /// with properties of the key's names.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for a property that is none of this; ``ErrorCode/invalidMergeKey`` for a nested
  ///   value without the destination's key.
  public init(properties value: some Decodable, for entity: EntityDescription) throws {
    self.init([:])
    for (label, value) in Mirror(reflecting: value).children {
      guard let label, let property = entity.propertiesByName[label] else { continue }
      if let relationship = property as? RelationshipDescription {
        links[label] = try Self.link(value, of: relationship)
      } else if let value = try Self.value(value, of: property, entity) {
        values[label] = value
      }
    }
  }

  private static func value(
    _ value: Any, of property: PropertyDescription, _ entity: EntityDescription
  ) throws -> (any AttributeConvertible)? {
    if let attribute = property as? AttributeDescription, case .codable = attribute.type {
      return try encoded(unwrapped(value), of: property)
    }
    guard let present = unwrapped(value) else { return Int?.none }
    guard let convertible = present as? any AttributeConvertible else {
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(property.name)' cannot hold a \(type(of: present)); make it `AttributeConvertible`.")
    }
    return convertible
  }

  private static func encoded(_ value: Any?, of property: PropertyDescription) throws -> (any AttributeConvertible)? {
    guard let value else { return String?.none }
    guard let encodable = value as? any Encodable else {
      throw CoherenceError(.wrongType, "The value of '\(property.name)' cannot be encoded; make its type `Codable`.")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(encodable), as: UTF8.self)
  }

  private static func link(_ value: Any, of relationship: RelationshipDescription) throws -> MergeLink {
    guard let value = unwrapped(value) else { return relationship.isToMany ? .many([]) : .none }
    guard relationship.isToMany else { return .one(try key(value, of: relationship)) }
    guard let list = value as? [Any] else {
      throw CoherenceError(.wrongType, "'\(relationship.name)' is a to-many relationship; give it a list of keys.")
    }
    return .many(try list.map { try key($0, of: relationship) })
  }

  private static func key(_ value: Any, of relationship: RelationshipDescription) throws -> MergeKey {
    if let key = value as? any AttributeConvertible { return MergeKey(key) }
    let names = EntityUniqueness(entity: relationship.destination).attributes
    let properties = Dictionary(
      Mirror(reflecting: value).children.compactMap { child in
        child.label.flatMap { label in (unwrapped(child.value) as? any AttributeConvertible).map { (label, $0) } }
      }, uniquingKeysWith: { first, _ in first })
    let parts = names.compactMap { properties[$0] }
    guard parts.count == names.count, !parts.isEmpty else {
      throw CoherenceError(
        .invalidMergeKey,
        "A \(type(of: value)) for '\(relationship.name)' lacks a property of \(names.joined(separator: ", ")).")
    }
    return MergeKey(values: parts.map(\.attributeValue))
  }

  /// A value without its optionality; `nil` when it is missing.
  private static func unwrapped(_ value: Any) -> Any? {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return value }
    return mirror.children.first.flatMap { unwrapped($0.value) }
  }
}
