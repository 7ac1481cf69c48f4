import CoherenceCore

/// The parts of the model that reads and saves need, computed once.
final class InMemorySchema: Sendable {
  /// A list of slots whose values together are unique among an entity's records, its subentities' included.
  struct Constraint: Sendable {
    /// The index in ``InMemoryState/holders``.
    let number: Int
    let entity: EntityDescription
    let slots: [Int]
    /// The names of the properties, for messages.
    let names: [String]
  }

  /// An attribute with a lookup index, and without a uniqueness constraint on it alone, which would serve lookups too.
  struct Lookup: Sendable {
    /// The index in ``InMemoryState/keysByValue``.
    let number: Int
    let slot: Int
  }

  /// The entities that the store holds.
  let entities: [EntityDescription]
  let roots: [EntityDescription]
  let linkTables: [LinkTable]
  /// The spaces of the records' identifiers, by hierarchy.
  let spaces: IDSpaces
  let constraintCount: Int
  let lookupCount: Int
  // By entity; see the functions of the same names. `incoming` is by root: the references to its hierarchy.
  private let constraints: [ObjectIdentifier: [Constraint]]
  private let lookups: [ObjectIdentifier: [Lookup]]
  private let references: [ObjectIdentifier: [RelationshipDescription]]
  private let incoming: [ObjectIdentifier: [RelationshipDescription]]

  init(_ environment: StoreEnvironment, identifier: StoreIdentifier) {
    entities = environment.entities
    roots = environment.roots
    linkTables = environment.linkTables
    spaces = IDSpaces(store: identifier, model: environment.model)
    let constraints = Self.constraints(in: environment)
    self.constraints = constraints
    constraintCount = constraints.values.joined().map { $0.number + 1 }.max() ?? 0
    let lookups = Self.lookups(of: environment.entities, without: constraints)
    self.lookups = lookups
    lookupCount = lookups.values.joined().map { $0.number + 1 }.max() ?? 0
    var references: [ObjectIdentifier: [RelationshipDescription]] = [:]
    var incoming: [ObjectIdentifier: [RelationshipDescription]] = [:]
    for entity in environment.entities {
      references[ObjectIdentifier(entity)] = entity.relationships.filter { !$0.isToMany }
      for relationship in entity.relationships where relationship.entity === entity && !relationship.isToMany {
        incoming[ObjectIdentifier(relationship.destination.root), default: []].append(relationship)
      }
    }
    self.references = references
    self.incoming = incoming
  }

  /// The uniqueness constraints by entity. Inherited constraints keep their number, so that a hierarchy's records are
  /// compared with each other.
  private static func constraints(in environment: StoreEnvironment) -> [ObjectIdentifier: [Constraint]] {
    var constraints: [ObjectIdentifier: [Constraint]] = [:]
    var count = 0
    for entity in environment.entities {
      var all = entity.superentity.flatMap { constraints[ObjectIdentifier($0)] } ?? []
      for properties in environment.ownConstraints(of: entity) {
        all.append(
          Constraint(
            number: count, entity: entity, slots: properties.compactMap(\.rowSlot), names: properties.map(\.name)))
        count += 1
      }
      constraints[ObjectIdentifier(entity)] = all
    }
    return constraints
  }

  /// The lookup indexes by entity. Inherited attributes keep their number, so that the records of a hierarchy are found
  /// together.
  private static func lookups(
    of entities: [EntityDescription], without constraints: [ObjectIdentifier: [Constraint]]
  ) -> [ObjectIdentifier: [Lookup]] {
    var numbers: [AttributeDescription: Int] = [:]
    let attributes = entities.flatMap { entity in
      lookupAttributes(of: entity).filter { attribute in
        constraints[ObjectIdentifier(entity)]?.contains { $0.slots == [attribute.slot] } != true
      }
    }
    for attribute in attributes where numbers[attribute] == nil {
      let number = numbers.count
      numbers[attribute] = number
    }
    var lookups: [ObjectIdentifier: [Lookup]] = [:]
    for entity in entities {
      lookups[ObjectIdentifier(entity)] = entity.attributes.compactMap { attribute in
        numbers[attribute].map { Lookup(number: $0, slot: attribute.slot) }
      }
    }
    return lookups
  }

  /// The attributes that get a lookup index: the first attributes of indexes, the attributes of constraints over
  /// several attributes, and the attributes of the entity's key, by which actions look up single records.
  private static func lookupAttributes(of entity: EntityDescription) -> [AttributeDescription] {
    var properties = entity.indexes.compactMap(\.first)
    for constraint in entity.uniquenessConstraints where constraint.count > 1 { properties += constraint }
    return properties.compactMap { $0 as? AttributeDescription } + (entity.keyAttributes ?? [])
  }

  /// The lookups of an entity's attributes, inherited ones included.
  func lookups(of entity: EntityDescription) -> [Lookup] { lookups[ObjectIdentifier(entity)] ?? [] }

  /// The uniqueness constraints of an entity, inherited ones included.
  func constraints(of entity: EntityDescription) -> [Constraint] { constraints[ObjectIdentifier(entity)] ?? [] }

  /// The to-one relationships of an entity, inherited ones included.
  func references(of entity: EntityDescription) -> [RelationshipDescription] {
    references[ObjectIdentifier(entity)] ?? []
  }

  /// The to-one relationships that lead into a hierarchy.
  func references(to root: EntityDescription) -> [RelationshipDescription] { incoming[ObjectIdentifier(root)] ?? [] }
}

extension PropertyDescription {
  /// The slot of the property; `nil` for a to-many relationship.
  fileprivate var rowSlot: Int? { (self as? AttributeDescription)?.slot ?? (self as? RelationshipDescription)?.slot }
}
