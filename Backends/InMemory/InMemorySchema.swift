import CoherenceCore

/// What the model says that reading and saving have to look at, worked out once.
final class InMemorySchema: Sendable {
  /// A list of slots whose values together are unique among an entity's records, its subentities' included.
  struct Constraint: Sendable {
    /// The place in ``InMemoryState/holders``.
    let number: Int
    let entity: EntityDescription
    let slots: [Int]
    /// The names of the properties, for messages.
    let names: [String]
  }

  /// The entities that the store holds.
  let entities: [EntityDescription]
  let roots: [EntityDescription]
  let linkTables: [LinkTable]
  let spaces: IDSpaces
  let constraintCount: Int
  private let constraints: [ObjectIdentifier: [Constraint]]
  private let references: [ObjectIdentifier: [RelationshipDescription]]
  private let incoming: [ObjectIdentifier: [RelationshipDescription]]

  init(_ environment: StoreEnvironment, identifier: StoreIdentifier) {
    entities = environment.entities
    roots = environment.roots
    linkTables = environment.linkTables
    spaces = IDSpaces(store: identifier, model: environment.model)
    let constraints = Self.constraints(of: environment.entities)
    self.constraints = constraints
    constraintCount = constraints.values.joined().map { $0.number + 1 }.max() ?? 0
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

  /// Inherited constraints keep their number, so that a hierarchy's records are compared with each other.
  private static func constraints(of entities: [EntityDescription]) -> [ObjectIdentifier: [Constraint]] {
    var constraints: [ObjectIdentifier: [Constraint]] = [:]
    var count = 0
    for entity in entities {
      var all = entity.superentity.flatMap { constraints[ObjectIdentifier($0)] } ?? []
      for properties in entity.uniquenessConstraints.dropFirst(all.count) {
        all.append(
          Constraint(
            number: count, entity: entity, slots: properties.compactMap(\.rowSlot), names: properties.map(\.name)))
        count += 1
      }
      constraints[ObjectIdentifier(entity)] = all
    }
    return constraints
  }

  /// The constraints that an entity's records are under, inherited ones included.
  func constraints(of entity: EntityDescription) -> [Constraint] { constraints[ObjectIdentifier(entity)] ?? [] }

  /// The to-one relationships of an entity, inherited ones included.
  func references(of entity: EntityDescription) -> [RelationshipDescription] {
    references[ObjectIdentifier(entity)] ?? []
  }

  /// The to-one relationships that lead into a hierarchy.
  func references(to root: EntityDescription) -> [RelationshipDescription] { incoming[ObjectIdentifier(root)] ?? [] }
}

extension PropertyDescription {
  /// The slot that holds the property, if one does.
  fileprivate var rowSlot: Int? { (self as? AttributeDescription)?.slot ?? (self as? RelationshipDescription)?.slot }
}
