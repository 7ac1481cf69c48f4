public import CoherenceCore

extension MergeRecord {
  /// Makes a record from the stored properties of a value, by their names; for example from a decoded structure. A `nil`
  /// property clears its attribute or relationship.
  ///
  /// Inherited properties count, and property wrappers count by their stored `wrappedValue`. Every property must have an
  /// attribute or a relationship of its name, or be named in `leavingOut`, so that misspelt names are found. The property of a
  /// derived attribute belongs into `leavingOut` too, because a merge refuses its value. A dictionary with
  /// string keys counts as a value with properties of these names, also as a composite or as a nested record.
  ///
  /// An attribute takes a value of an attribute type; a `codable` attribute takes any encodable value; a composite
  /// takes a value with properties for its parts. A to-one relationship takes its destination's key. A to-many
  /// relationship takes a list of keys, or a set if it is unordered. A key of several attributes is a value with
  /// properties for these attributes; a nested record has them too.
  ///
  /// An attribute without a property keeps its stored value. If only some values contain an attribute, make the property a
  /// double optional (`String??`): the outer `nil` keeps the stored value, and the inner `nil` clears it. Synthesized decoding
  /// turns an explicit null into the outer `nil` too; ``init(from:configuration:)`` distinguishes both cases.
  ///
  /// - Parameters:
  ///   - value: The value, which is read by reflection.
  ///   - entity: The entity of the record.
  ///   - leavingOut: The names of properties to skip; `composite.part` for a part of a composite.
  /// - Throws: ``ErrorCode/unknownProperty`` for a property without an attribute or relationship; ``ErrorCode/wrongType`` for
  ///   a value that the attribute or relationship does not take; ``ErrorCode/invalidMergeKey`` for a nested value without the
  ///   destination's key.
  public init(properties value: some Decodable, for entity: EntityDescription, leavingOut: Set<String> = []) throws {
    self.init([:])
    if Mirror(reflecting: value).displayStyle == .dictionary {
      guard let named = (value as Any) as? [String: any AttributeConvertible] else {
        throw CoherenceError(
          .wrongType,
          "A \(type(of: value)) cannot be merged into '\(entity.name)'; use a dictionary of attribute values, or a structure."
        )
      }
      values = named.filter { !leavingOut.contains($0.key) }
    } else {
      try add(value, prefix: "", entity, leavingOut)
    }
  }

  /// A missing value that keeps its name in ``values``. Assigning `nil` would remove the name.
  private static let null: any AttributeConvertible = String?.none

  /// Adds the stored properties of a value.
  ///
  /// - Parameter prefix: The name of the composite and a full stop, for the value of a composite.
  private mutating func add(
    _ value: Any, prefix: String, _ entity: EntityDescription, _ leavingOut: Set<String>
  ) throws {
    guard let properties = StoredProperty.parts(of: value) else {
      let name = ([entity.name] + prefix.split(separator: ".").map(String.init)).joined(separator: ".")
      throw CoherenceError(
        .wrongType,
        "A \(type(of: value)) cannot be merged into '\(name)', because it has no named parts; use a structure, or a "
          + "dictionary with string keys.")
    }
    for property in properties {
      let modelName = property.matchingName { name in
        entity.propertiesByName[prefix + name] != nil || entity.composites[prefix + name] != nil
      }
      let name = modelName ?? property.name
      if leavingOut.contains(prefix + name) { continue }
      let state = PropertyState(property.value(as: name))
      switch entity.propertiesByName[prefix + name] {
      case let relationship as RelationshipDescription: try link(relationship, to: state)
      case let attribute as AttributeDescription: try set(attribute, to: state)
      default:
        guard let slots = entity.composites[prefix + name] else {
          throw Self.unknown(prefix + name, of: value, for: entity)
        }
        switch state {
        case .missing: continue
        case .null: for slot in slots { values[entity.slots[slot].name] = Self.null }
        case .value(let parts): try add(parts, prefix: "\(prefix)\(name).", entity, leavingOut)
        }
      }
    }
  }

  private static func unknown(_ name: String, of value: Any, for entity: EntityDescription) -> CoherenceError {
    let names = entity.properties.map(\.name).joined(separator: ", ")
    return CoherenceError(
      .unknownProperty,
      "'\(entity.name)' has no property '\(name)' for the property of \(type(of: value)); rename the property, or name it in "
        + "`leavingOut`. The entity has: \(names).")
  }

  // MARK: Attributes

  private mutating func set(_ attribute: AttributeDescription, to state: PropertyState) throws {
    switch state {
    case .missing: return
    case .null: values[attribute.name] = Self.null
    case .value(let value): values[attribute.name] = try Self.convertible(value, of: attribute)
    }
  }

  private static func convertible(
    _ value: Any, of attribute: AttributeDescription
  ) throws -> any AttributeConvertible {
    if case .codable = attribute.type { return try encoded(value, of: attribute) }
    guard let convertible = value as? any AttributeConvertible else {
      throw CoherenceError(
        .wrongType,
        "'\(attribute.entity.name).\(attribute.name)' cannot hold a \(type(of: value)); "
          + "make the type `AttributeConvertible`.")
    }
    return convertible
  }

  private static func encoded(_ value: Any, of attribute: AttributeDescription) throws -> String {
    guard let encodable = value as? any Encodable else {
      throw CoherenceError(.wrongType, "The value of '\(attribute.name)' cannot be encoded; make its type `Codable`.")
    }
    return try JSONText.encode(encodable)
  }

  // MARK: Relationships

  private mutating func link(_ relationship: RelationshipDescription, to state: PropertyState) throws {
    switch state {
    case .missing: return
    case .null:
      let empty: MergeLink = relationship.isToMany ? .many([]) : .none
      links[relationship.name] = empty
    case .value(let value) where relationship.isToMany:
      let keys = try Self.elements(value, of: relationship).map { try Self.key($0, relationship) }
      links[relationship.name] = .many(keys)
    case .value(let value): links[relationship.name] = .one(try Self.key(value, relationship))
    }
  }

  private static func elements(_ value: Any, of relationship: RelationshipDescription) throws -> [Any] {
    let mirror = Mirror(reflecting: value)
    let isList = mirror.displayStyle == .collection
    guard isList || (mirror.displayStyle == .set && !relationship.isOrdered) else {
      throw CoherenceError(.wrongType, "'\(relationship.name)' is a to-many relationship; give it a list of keys.")
    }
    return mirror.children.map(\.value)
  }

  /// The key of a destination: the value itself, or the properties of a nested value that the key's attributes name.
  private static func key(_ value: Any, _ relationship: RelationshipDescription) throws -> MergeKey {
    if let key = value as? any AttributeConvertible { return MergeKey(key) }
    let names = EntityUniqueness(entity: relationship.destination).attributes
    let properties = StoredProperty.parts(of: value) ?? []
    let parts = names.compactMap { name -> (any AttributeConvertible)? in
      guard let property = properties.last(where: { $0.matchingName { $0 == name } != nil }),
        case .value(let part) = PropertyState(property.value(as: name))
      else { return nil }
      return part as? any AttributeConvertible
    }
    guard parts.count == names.count, !parts.isEmpty else {
      throw CoherenceError(
        .invalidMergeKey,
        "A \(type(of: value)) for '\(relationship.name)' lacks a key property; give it a property for each of "
          + "\(names.joined(separator: ", ")).")
    }
    return MergeKey(values: parts.map(\.attributeValue))
  }
}
