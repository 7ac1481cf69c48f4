import CoherenceCore

/// The attributes that identify the records of an entity. They depend on the model alone.
struct EntityUniqueness {
  let entity: EntityDescription

  /// The attributes that identify a record: the key, or else the shortest constraint; `nil` without either.
  var validAttributes: [String]? { entity.keyAttributes?.map(\.name) ?? shortestConstraint }

  /// The attributes that identify a record, or else the names in the model's key setting, even of missing attributes.
  var attributes: [String] { validAttributes ?? entity.keyNames ?? [] }

  /// The attributes that the model names and the entity does not have.
  var invalidAttributes: [String] { (entity.keyNames ?? []).filter { entity.attribute(named: $0) == nil } }

  /// The first of the shortest declared constraints. A constraint over a relationship does not identify records. The
  /// constraints of inherited keys do not count: an entity whose own key names a missing attribute would otherwise be
  /// identified by the key of its ancestor.
  private var shortestConstraint: [String]? {
    entity.declaredConstraints
      .filter { $0.allSatisfy { $0 is AttributeDescription } }
      .min { $0.count < $1.count }?
      .map(\.name)
  }
}
