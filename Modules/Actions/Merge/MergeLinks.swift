import CoherenceCore

/// The relationships to set once all records of a merge are there.
struct MergeLinks {
  private struct Wish {
    let object: ManagedObject
    let relationship: RelationshipDescription
    let keys: [MergeKey]
  }

  private let context: ActionContext
  private var wishes: [Wish] = []

  init(context: ActionContext) { self.context = context }

  mutating func add(_ object: ManagedObject, to links: [String: MergeLink]) {
    for (name, link) in links {
      guard let relationship = object.entity.relationship(named: name) else { continue }
      wishes.append(Wish(object: object, relationship: relationship, keys: link.keys))
    }
  }

  /// Sets the relationships that differ, with one look-up for all links of a relationship.
  ///
  /// - Returns: The objects that changed.
  /// - Throws: ``ErrorCode/objectNotFound`` for a key that no record has.
  func apply() throws -> Set<ManagedObject> {
    var changed: Set<ManagedObject> = []
    for (relationship, wishes) in Dictionary(grouping: wishes, by: \.relationship) {
      let resolver = try finder(for: relationship)
      let keys = try wishes.map { try $0.keys.map { try checked($0, for: relationship, resolver) } }
      let targets = try resolver.objects(with: Array(Set(keys.joined())))
      for (wish, keys) in zip(wishes, keys) {
        let members = try keys.map { key in
          guard let target = targets[key] else { throw missing(relationship) }
          return target
        }
        if try set(relationship, of: wish.object, to: members) { changed.insert(wish.object) }
      }
    }
    return changed
  }

  private func finder(for relationship: RelationshipDescription) throws -> MergeFinder {
    let destination = relationship.destination
    guard let names = EntityUniqueness(entity: destination).validAttributes else {
      throw CoherenceError(
        .invalidMergeKey,
        "Nothing tells the records of '\(destination.name)' apart, so that '\(relationship.name)' cannot be set by "
          + "key; give the entity 'uniquenessAttributes' or a uniqueness constraint.")
    }
    return MergeFinder(
      context: context, entity: destination, keyAttributes: names.compactMap { destination.attribute(named: $0) })
  }

  /// The key in the form in which records hold it.
  private func checked(
    _ key: MergeKey, for relationship: RelationshipDescription, _ finder: MergeFinder
  ) throws -> MergeKey {
    guard key.values.count == finder.keyAttributes.count, !key.isIncomplete else {
      throw CoherenceError(
        .invalidMergeKey, "A key for '\(relationship.name)' does not have a value for each of \(finder.keyNames).")
    }
    return MergeKey(values: try zip(finder.keyAttributes, key.values).map { try $0.type.checked($1) })
  }

  private func set(
    _ relationship: RelationshipDescription, of object: ManagedObject, to members: [ManagedObject]
  ) throws -> Bool {
    guard relationship.isToMany else {
      guard try object.object(for: relationship.name) !== members.first else { return false }
      try object.setObject(members.first, for: relationship.name)
      return true
    }
    let present = try object.objects(for: relationship.name)
    let isSame = relationship.isOrdered ? present == members : Set(present) == Set(members)
    if isSame { return false }
    try object.setObjects(members, for: relationship.name)
    return true
  }

  private func missing(_ relationship: RelationshipDescription) -> CoherenceError {
    CoherenceError(
      .objectNotFound,
      "No record of '\(relationship.destination.name)' has a key that was given for "
        + "'\(relationship.entity.name).\(relationship.name)'; merge the destinations first.")
  }
}
