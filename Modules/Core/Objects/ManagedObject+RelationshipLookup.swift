// Finds the relationships of an object, by key and by name.

extension ManagedObject {
  /// The relationship with a name, to-one or to-many.
  final func relationship(named name: String) throws -> RelationshipDescription {
    guard let relationship = try entity.property(named: name) as? RelationshipDescription else {
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is an attribute; use `value(for:)`.")
    }
    return relationship
  }

  /// The relationship of a key of a to-one relationship.
  final func toOne(_ key: PropertyKey) throws -> RelationshipDescription {
    let slot = key.slot(in: self)
    guard slot >= 0, case .reference(let relationship) = entity.slots[slot] else {
      return try relationship(named: key.name)
    }
    return relationship
  }

  /// The relationship of a key of a to-many relationship.
  final func toMany(_ key: PropertyKey) throws -> RelationshipDescription {
    let index = key.slot(in: self)
    return index >= 0 ? entity.relationships[index] : try toMany(named: key.name)
  }

  /// The to-many relationship with a name.
  final func toMany(named name: String) throws -> RelationshipDescription {
    let relationship = try relationship(named: name)
    guard relationship.isToMany else {
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is a to-one relationship; use `object(for:)`.")
    }
    return relationship
  }
}
