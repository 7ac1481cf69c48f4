import CoherenceCore

/// The records that a relationship leads to, and what tells them apart.
struct MergeDestination {
  let relationship: RelationshipDescription
  let keyAttributes: [AttributeDescription]

  init(of relationship: RelationshipDescription) throws {
    self.relationship = relationship
    let entity = relationship.destination
    guard let names = EntityUniqueness(entity: entity).validAttributes else {
      throw CoherenceError(
        .invalidMergeKey,
        "Nothing tells the records of '\(entity.name)' apart, so that '\(relationship.name)' cannot be set by key; "
          + "give the entity 'uniquenessAttributes' or a uniqueness constraint.")
    }
    keyAttributes = names.compactMap { entity.attribute(named: $0) }
  }

  /// The key in the form in which records hold it.
  func checked(_ key: MergeKey) throws -> MergeKey {
    guard key.values.count == keyAttributes.count, !key.isIncomplete else {
      let names = keyAttributes.map { "'\($0.name)'" }.joined(separator: ", ")
      throw CoherenceError(
        .invalidMergeKey, "A key for '\(relationship.name)' does not have a value for each of \(names).")
    }
    return MergeKey(values: try zip(keyAttributes, key.values).map { try $0.type.checked($1) })
  }

  func checked(_ keys: Set<MergeKey>) throws -> Set<MergeKey> { Set(try keys.map { try checked($0) }) }

  /// Whether a merge's input may be of the destination, with the same key.
  func isServed(by layout: MergeLayout) -> Bool {
    layout.entity.isKind(of: relationship.destination) && layout.keys.map(\.slot) == keyAttributes.map(\.slot)
  }

  var missing: CoherenceError {
    CoherenceError(
      .objectNotFound,
      "No record of '\(relationship.destination.name)' has a key that was given for "
        + "'\(relationship.entity.name).\(relationship.name)'; merge the destinations first.")
  }
}
