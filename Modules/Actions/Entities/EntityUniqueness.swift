import CoherenceCore

/// The attributes that identify the records of an entity, by the model alone and in any order of entities.
struct EntityUniqueness {
  let entity: EntityDescription

  /// The attributes that identify a record; `nil` when the model names no existing ones.
  var validAttributes: [String]? { entity.keyAttributes?.map(\.name) ?? shortestConstraint }

  /// The attributes that the model names, existing or not.
  var attributes: [String] { validAttributes ?? entity.keyNames ?? [] }

  /// Attributes that a setting names and that the entity does not have.
  var invalidAttributes: [String] { (entity.keyNames ?? []).filter { entity.attribute(named: $0) == nil } }

  /// The first of the declared constraints with the fewest attributes. A constraint over a relationship identifies
  /// nothing, and the key of an ancestor is no key of an entity whose own setting is wrong.
  private var shortestConstraint: [String]? {
    entity.declaredConstraints
      .filter { $0.allSatisfy { $0 is AttributeDescription } }
      .min { $0.count < $1.count }?
      .map(\.name)
  }
}
