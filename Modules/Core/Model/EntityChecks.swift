extension EntityDescription {
  /// The slots of to-one relationships.
  var referenceSlots: [Int] { checked.references }
  var hasReferences: Bool { !checked.references.isEmpty }
  /// Slots of the properties under uniqueness constraints.
  var uniqueSlots: [Int] { checked.unique }
}

/// The properties of an entity that changes and saves check, computed once.
final class EntityChecks: Sendable {
  /// Slots of required properties.
  let required: [Int]
  /// Slots whose values have validation rules.
  let ruled: [Int]
  /// To-many relationships with bounds on their number of members.
  let relationships: [RelationshipDescription]
  /// Relationships whose members deny the delete of a record.
  let denying: [RelationshipDescription]
  /// The slots of to-one relationships.
  let references: [Int]
  /// The slots of weak references, without derived ones.
  let weakReferences: [Int]
  /// Slots of the properties under uniqueness constraints.
  let unique: [Int]
  /// Whether the class of the entity's objects has rules for single properties.
  let hasPropertyRules: Bool
  /// Whether the delete of a record needs an object, because the class of the entity's objects may override a hook.
  let hasDeletionHooks: Bool
  /// Whether an undo leaves a saved object of the entity; see ``KeptByUndo``.
  let isKeptByUndo: Bool
  /// To-one relationships whose inverse has bounds on its number of members.
  let boundedOwners: [(slot: Int, inverse: RelationshipDescription)]

  /// Slots of attributes and to-one relationships: all but the positions in ordered lists.
  let values: SlotSet
  /// Whether the entity has slots of positions in ordered lists.
  let hasPositions: Bool

  /// The derived attributes whose values depend on the record alone.
  let derived: [DerivedSlot]
  /// The derived attributes whose values depend on other records, with their values for a record without related ones.
  let related: [(slot: Int, initial: AttributeValue)]
  /// Whether saves compute values of the records.
  var isDerived: Bool { !derived.isEmpty || !related.isEmpty }

  init(_ entity: EntityDescription) {
    derived = entity.attributes.compactMap { DerivedSlot($0, in: entity) }
    related = entity.attributes.filter { $0.derivation?.relationshipPath != nil }.map {
      ($0.slot, RelationshipDerivation.initialValue($0))
    }
    required = entity.slots.indices.filter { index in
      switch entity.slots[index] {
      case .attribute(let attribute): !attribute.isOptional
      case .reference(let relationship): !relationship.isOptional
      case .position: false
      }
    }
    ruled = entity.slots.indices.filter { index in
      if case .attribute(let attribute) = entity.slots[index] { !attribute.validation.isEmpty } else { false }
    }
    relationships = entity.relationships.filter(\.isBounded)
    denying = entity.relationships.filter { $0.deleteRule == .deny }
    hasPropertyRules = entity.objectClass is any PropertyValidating.Type
    isKeptByUndo = entity.objectClass is any KeptByUndo.Type
    hasDeletionHooks = !DeletionHooks.hooks(of: entity.objectClass).isEmpty
    boundedOwners = entity.relationships.compactMap { relationship in
      guard let slot = relationship.slot, let inverse = relationship.inverse, inverse.isBounded else { return nil }
      return (slot, inverse)
    }
    references = entity.slots.indices.filter { if case .reference = entity.slots[$0] { true } else { false } }
    weakReferences = entity.slots.indices.filter { index in
      if case .attribute(let attribute) = entity.slots[index] {
        attribute.type.isWeakReference && attribute.derivation == nil
      } else {
        false
      }
    }
    let positions = entity.slots.indices.filter { if case .position = entity.slots[$0] { true } else { false } }
    values = SlotSet(entity.slots.indices.filter { !positions.contains($0) })
    hasPositions = !positions.isEmpty
    unique = Set(entity.uniquenessConstraints.joined().map(\.slotInRow)).sorted()
  }
}

extension ManagedObjectModel {
  /// Whether a relationship without an inverse leads into one of some hierarchies, given by their roots.
  func isNamedWithoutInverse(_ roots: Set<ObjectIdentifier>) -> Bool {
    entities.contains { entity in
      entity.relationships.contains { $0.inverse == nil && roots.contains(ObjectIdentifier($0.destination.root)) }
    }
  }

  /// Whether a relationship into one of some hierarchies, given by their roots, keeps deleted records: no delete rule
  /// finds the owner.
  func mayKeepDeleted(_ roots: Set<ObjectIdentifier>) -> Bool {
    entities.contains { entity in
      entity.relationships.contains { $0.keepsDeleted && roots.contains(ObjectIdentifier($0.destination.root)) }
    }
  }
}

extension RelationshipDescription {
  /// Whether no delete rule removes a deleted record from the relationship.
  fileprivate var keepsDeleted: Bool { isToMany ? inverse == nil : !isConstrained }

  /// Whether the model bounds the number of members.
  package var isBounded: Bool { isToMany && (minimumCount > 0 || maximumCount != nil) }
}
