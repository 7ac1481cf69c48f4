import CoherenceCore

/// The destination entity of a relationship, and the attributes of its key.
struct MergeDestination {
  let relationship: RelationshipDescription
  let keyAttributes: [AttributeDescription]

  /// - Throws: ``ErrorCode/invalidMergeKey`` for a destination without a key.
  init(of relationship: RelationshipDescription) throws {
    self.relationship = relationship
    let entity = relationship.destination
    guard let names = EntityUniqueness(entity: entity).validAttributes else {
      throw CoherenceError(
        .invalidMergeKey,
        "'\(relationship.entity.name).\(relationship.name)' cannot be linked by key, because '\(entity.name)' has no "
          + "key; give the entity 'uniquenessAttributes' or a uniqueness constraint.")
    }
    keyAttributes = names.compactMap { entity.attribute(named: $0) }
  }

  /// Returns a key in the form in which rows hold it.
  func checked(_ key: MergeKey) throws -> MergeKey {
    guard key.values.count == keyAttributes.count, !key.isIncomplete else {
      let names = keyAttributes.map { "'\($0.name)'" }.joined(separator: ", ")
      throw CoherenceError(
        .invalidMergeKey,
        "A key for '\(relationship.entity.name).\(relationship.name)' is incomplete; give it a value for each of "
          + "\(names).")
    }
    return MergeKey(values: try zip(keyAttributes, key.values).map { try $0.type.checked($1) })
  }

  /// Whether destinations may be records of a merge's own input: these have the entity, and are found by the same key.
  func mayBeInput(of layout: MergeLayout) -> Bool {
    layout.entity.isKind(of: relationship.destination) && layout.keys.map(\.slot) == keyAttributes.map(\.slot)
  }

  /// The error of an input record with a link to a missing record.
  func missingTargetError(_ record: Int) -> CoherenceError {
    CoherenceError(
      .objectNotFound,
      "'\(relationship.entity.name).\(relationship.name)' of input record \(record) has a key that no record of "
        + "'\(relationship.destination.name)' has; merge the destinations first.")
  }
}
