import CoherenceCore

/// The properties of a forwarded entity that its entries have, found once for each model.
struct RecordedEntity: Sendable {
  /// A property with a slot.
  struct Field: Sendable {
    let name: String
    let slot: Int
  }

  /// The attributes and to-one relationships.
  let fields: [Field]
  /// The attributes that identify a record.
  let identity: [Field]
  /// The to-many relationships that other records' to-one relationships, or the other side, stand for: the entries of
  /// those records have their changes.
  private let representedElsewhere: Set<RelationshipDescription>

  /// - Parameter names: The names of the forwarded entities.
  init(_ entity: EntityDescription, forwarding names: Set<String>) {
    fields = entity.slots.indices.compactMap { slot in
      switch entity.slots[slot] {
      case .attribute(let attribute): Field(name: attribute.name, slot: slot)
      case .reference(let relationship): Field(name: relationship.name, slot: slot)
      // The list of the relationship has the order.
      case .position: nil
      }
    }
    identity = entity.identifyingAttributes.map { Field(name: $0.name, slot: $0.slot) }
    representedElsewhere = Set(
      entity.relationships.filter { relationship in
        relationship.isToMany && relationship.inverse != nil
          && relationship.destination.concreteEntities.allSatisfy { names.contains($0.name) }
      })
  }

  /// Whether the entry of a record has a change of members.
  func records(_ change: RecordedMembers) -> Bool {
    change.isOwner || change.isReordered || !representedElsewhere.contains(change.relationship)
  }
}

extension EntityDescription {
  /// The attributes of the entity's key, or else of the first of its shortest uniqueness constraints over attributes.
  var identifyingAttributes: [AttributeDescription] {
    if let key = keyAttributes { return key }
    let constraints = uniquenessConstraints.compactMap { constraint -> [AttributeDescription]? in
      let attributes = constraint.compactMap { $0 as? AttributeDescription }
      return attributes.count == constraint.count ? attributes : nil
    }
    return constraints.min { $0.count < $1.count } ?? []
  }
}
