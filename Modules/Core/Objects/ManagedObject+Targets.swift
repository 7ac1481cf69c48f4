// Relationships of both kinds, for code that follows every relationship of an entity.

extension ManagedObject {
  /// The members of a to-many relationship, or the target of a to-one relationship.
  package final func targets(of relationship: RelationshipDescription) throws -> [ManagedObject] {
    if relationship.isToMany { return try objects(for: relationship.name) }
    return try object(for: relationship.name).map { [$0] } ?? []
  }

  /// Sets the members of a to-many relationship, or the target of a to-one relationship: the only one of the targets,
  /// or none.
  package final func setTargets(_ targets: [ManagedObject], of relationship: RelationshipDescription) throws {
    if relationship.isToMany {
      try setObjects(targets, for: relationship.name)
    } else {
      try setObject(targets.first, for: relationship.name)
    }
  }
}
