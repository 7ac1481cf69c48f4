import Synchronization

/// Builds descriptions that refer to each other from validated declarations.
struct ModelLinker {
  private let declarations: [Entity]
  /// The last ``EntityDescription/token`` given to an entity of this process.
  private static let lastToken = Atomic<UInt32>(0)

  /// - Parameter declarations: Declarations in which ``ModelValidation`` found no problem.
  init(_ declarations: [Entity]) { self.declarations = declarations }

  /// Builds the descriptions, in the order of the declarations.
  func link() -> [EntityDescription] {
    let entities = declarations.map { EntityDescription($0) }
    let byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    linkHierarchies(entities, byName)
    let ordered = entities.filter { $0.superentity == nil }.flatMap(\.hierarchy)
    addTokens(to: ordered)
    let declared = Dictionary(uniqueKeysWithValues: declarations.map { ($0.name, $0) })
    for entity in ordered { addProperties(to: entity, from: declared[entity.name]!) }
    linkRelationships(ordered, byName)
    for entity in ordered { layOut(entity, declared[entity.name]!) }
    for entity in ordered { addConstraints(to: entity, from: declared[entity.name]!) }
    for (position, name) in byName.keys.sorted().enumerated() { byName[name]!.position = position }
    for entity in ordered {
      entity.versionHash = VersionHash(of: entity.canonicalText)
      entity.freeze()
    }
    return entities
  }

  private func linkHierarchies(_ entities: [EntityDescription], _ byName: [String: EntityDescription]) {
    for (entity, declaration) in zip(entities, declarations) {
      guard let parent = declaration.parent else { continue }
      entity.superentity = byName[parent]!
      byName[parent]!.subentities.append(entity)
    }
    for entity in entities {
      var root = entity
      while let parent = root.superentity { root = parent }
      entity.root = root
    }
  }

  /// Numbers the entities. Property keys rely on the order: the numbers of an entity and its descendants are a range.
  ///
  /// - Parameter ordered: All entities, each followed by its descendants.
  private func addTokens(to ordered: [EntityDescription]) {
    var token = Self.lastToken.add(UInt32(ordered.count), ordering: .relaxed).oldValue
    for entity in ordered {
      token += 1
      entity.token = token
    }
    // Descendants first.
    for entity in ordered.reversed() {
      entity.hierarchyCount = 1 + entity.subentities.reduce(0) { $0 + $1.hierarchyCount }
    }
  }

  /// Adds the entity's own attributes and relationships after those of the superentity.
  private func addProperties(to entity: EntityDescription, from declaration: Entity) {
    if let parent = entity.superentity {
      entity.properties = parent.properties
      entity.computedProperties = parent.computedProperties
    }
    for property in declaration.properties where property is any ComputedPropertyDeclaration {
      entity.computedProperties[property.name] = property
    }
    var attributes: [AttributeDescription] = []
    for property in declaration.properties {
      if let attribute = property as? Attribute {
        attributes.append(AttributeDescription(attribute, name: attribute.name, entity: entity))
      } else if let composite = property as? CompositeAttribute {
        for part in composite.parts {
          attributes.append(AttributeDescription(part, name: "\(composite.name).\(part.name)", entity: entity))
        }
      }
    }
    let relationships = declaration.properties.compactMap { $0 as? Relationship }
      .map { RelationshipDescription($0, entity: entity) }
    for property in attributes as [PropertyDescription] + relationships {
      property.index = entity.properties.count
      entity.properties.append(property)
    }
    entity.attributes = entity.properties.compactMap { $0 as? AttributeDescription }
    entity.relationships = entity.properties.compactMap { $0 as? RelationshipDescription }
    entity.propertiesByName = Dictionary(uniqueKeysWithValues: entity.properties.map { ($0.name, $0) })
  }

  /// Connects relationships with their destinations and inverses, and makes the link tables.
  private func linkRelationships(_ entities: [EntityDescription], _ byName: [String: EntityDescription]) {
    let own = entities.flatMap { entity in entity.relationships.filter { $0.entity === entity } }
    for relationship in own {
      relationship.destination = byName[relationship.destinationName]!
      relationship.inverse = relationship.inverseName.flatMap { relationship.destination.relationship(named: $0) }
    }
    for relationship in own where relationship.isToMany && relationship.inverse?.isToMany != false {
      linkTable(for: relationship)
    }
  }

  /// Makes the link table of a to-many relationship whose inverse is to-many or missing, once for both directions.
  private func linkTable(for relationship: RelationshipDescription) {
    if case .links = relationship.storage { return }
    guard let inverse = relationship.inverse, inverse !== relationship else {
      relationship.storage = .links(LinkTable(forward: relationship, backward: nil), isForward: true)
      return
    }
    let isForward = "\(relationship.entity.name).\(relationship.name)" < "\(inverse.entity.name).\(inverse.name)"
    let table = LinkTable(
      forward: isForward ? relationship : inverse, backward: isForward ? inverse : relationship)
    relationship.storage = .links(table, isForward: isForward)
    inverse.storage = .links(table, isForward: !isForward)
  }

  /// Assigns slots: first the superentity's, then the entity's own attributes, then its to-one relationships with their
  /// positions.
  private func layOut(_ entity: EntityDescription, _ declaration: Entity) {
    entity.slots = entity.superentity?.slots ?? []
    entity.composites = entity.superentity?.composites ?? [:]
    for attribute in entity.attributes where attribute.entity === entity {
      attribute.slot = entity.slots.count
      entity.slots.append(.attribute(attribute))
    }
    for relationship in entity.relationships where relationship.entity === entity && !relationship.isToMany {
      relationship.storage = .column(slot: entity.slots.count)
      entity.slots.append(.reference(relationship))
      guard let inverse = relationship.inverse, inverse.isToMany else { continue }
      let position = inverse.isOrdered ? entity.slots.count : nil
      if inverse.isOrdered { entity.slots.append(.position(relationship)) }
      inverse.storage = .inverseColumn(relationship, positionSlot: position)
    }
    entity.slotCount = entity.slots.count
    entity.defaultValues = entity.slots.map { slot in
      if case .attribute(let attribute) = slot { return attribute.defaultValue }
      return .null
    }
    for case let composite as CompositeAttribute in declaration.properties {
      guard let first = entity.attribute(named: "\(composite.name).\(composite.parts[0].name)") else { continue }
      entity.composites[composite.name] = first.slot..<(first.slot + composite.parts.count)
    }
  }

  private func addConstraints(to entity: EntityDescription, from declaration: Entity) {
    func resolve(_ lists: [[String]]) -> [[PropertyDescription]] {
      lists.map { $0.map { entity.propertiesByName[$0]! } }
    }
    let own = resolve(declaration.uniqueness)
    entity.declaredConstraints = (entity.superentity?.declaredConstraints ?? []) + own
    entity.uniquenessConstraints = (entity.superentity?.uniquenessConstraints ?? []) + own
    entity.keyConstraint = entity.addedKeyConstraint
    if let key = entity.keyConstraint { entity.uniquenessConstraints.append(key) }
    entity.indexes = (entity.superentity?.indexes ?? []) + resolve(declaration.indexes)
  }
}
