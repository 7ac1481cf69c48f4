import CoherenceCore

// A model may have other names for entities and properties than the model that recorded them. Tables, columns and
// records keep their names in the engine, because programs with either model may have the store open at the same time.
// A rename changes only the recorded schema.

extension StoredSchema {
  /// The schema with the names that a model's entities and properties have, where the model's renaming identifiers, or
  /// those of the models before, say that they are the same.
  func renamed(for environment: StoreEnvironment) -> StoredSchema {
    var result = self
    let entities = environment.entities
    result.renameEntities(for: environment)
    for entity in entities {
      guard let index = result.tables.firstIndex(where: { $0.root == entity.root.name }) else { continue }
      result.tables[index].renameColumns(of: entity)
    }
    for entity in entities { result.renameRelationships(of: entity) }
    // Links are named after relationships: their former names are found by the relationships' former names.
    result.renameLinks(environment.linkTables)
    return result
  }

  // MARK: Relationships

  /// The name of a relationship in the store; `nil` if the store has the model's name.
  private func formerName(of relationship: RelationshipDescription) -> String? {
    let stored = relationships.filter { $0.entity == relationship.entity.name }
    if stored.contains(where: { $0.name == relationship.name }) { return nil }
    let name = RenamedName(name: relationship.name, formerNames: relationship.formerNames)
    let declared = Set(relationship.entity.relationships.map(\.name))
    return name.index(among: stored.map { ($0.name, $0.formerNames) }, besides: declared).map { stored[$0].name }
  }

  /// Gives the relationships that an entity declares the model's names.
  private mutating func renameRelationships(of entity: EntityDescription) {
    for relationship in entity.relationships where relationship.entity === entity {
      guard let former = formerName(of: relationship),
        let index = relationships.firstIndex(where: { $0.entity == entity.name && $0.name == former })
      else { continue }
      relationships[index].name = relationship.name
      relationships[index].formerNames = (relationships[index].formerNames ?? []).renamed(former, to: relationship.name)
    }
  }

  // MARK: Links

  /// Gives the stored links of the model's relationships the names that the model has for them.
  private mutating func renameLinks(_ wanted: [CoherenceCore.LinkTable]) {
    let names = Set(wanted.map(\.name))
    for links in wanted where !linkTables.contains(where: { $0.links == links.name }) {
      guard let former = formerLinks(of: links, besides: names) else { continue }
      linkTables[former.index].links = links.name
      if former.isReversed { linkTables[former.index].reverse() }
    }
  }

  /// The links that the store has under another name, and whether they are reversed there, because names decide which
  /// side is the source.
  private func formerLinks(
    of links: CoherenceCore.LinkTable, besides names: Set<String>
  ) -> (index: Int, isReversed: Bool)? {
    let forward = paths(of: links.forward)
    guard let inverse = links.backward else {
      return linkTables.firstIndex { !names.contains($0.links) && forward.contains($0.links) }.map { ($0, false) }
    }
    let backward = paths(of: inverse)
    for (index, stored) in linkTables.enumerated() where !names.contains(stored.links) {
      for first in forward {
        for second in backward {
          if stored.links == "\(first)-\(second)" { return (index, false) }
          if stored.links == "\(second)-\(first)" { return (index, true) }
        }
      }
    }
    return nil
  }

  /// The qualified names, as `Entity.relationship`, that the store may have for a relationship.
  private func paths(of relationship: RelationshipDescription) -> [String] {
    let entity = relationship.entity.name
    let stored = relationships.first { $0.entity == entity && $0.name == relationship.name }
    let entities = [entity] + (entitiesByName[entity]?.formerNames ?? [])
    return ([relationship.name] + (stored?.formerNames ?? [])).flatMap { name in entities.map { "\($0).\(name)" } }
  }
}

extension StoredSchema.Table {
  /// Gives the columns of an entity's own slots the model's names.
  fileprivate mutating func renameColumns(of entity: EntityDescription) {
    let own = entity.slots.dropFirst(entity.superentity?.slotCount ?? 0)
    let declared = Set(own.map(\.name))
    for slot in own where column(SQLColumn.Key(slot)) == nil {
      let columnIndices = columns.indices.filter { columns[$0].entity == entity.name }
      let name = RenamedName(name: slot.name, formerNames: slot.formerNames)
      let names: [RenamedName.Stored] = columnIndices.map { (columns[$0].slot, columns[$0].formerSlots) }
      let match = name.index(among: names, besides: declared)
      guard let index = match.map({ columnIndices[$0] }) else { continue }
      let former = columns[index].slot
      columns[index].slot = slot.name
      columns[index].formerSlots = (columns[index].formerSlots ?? []).renamed(former, to: slot.name)
    }
    // A former name that the model now gives to another property no longer leads to the renamed property.
    for index in columns.indices where columns[index].entity == entity.name {
      let names = columns[index].formerSlots?.filter { !declared.contains($0) } ?? []
      columns[index].formerSlots = names.isEmpty ? nil : names
    }
  }
}

extension Slot {
  /// The names that the slot had in earlier models, the latest first.
  var formerNames: [String] {
    switch self {
    case .attribute(let attribute): attribute.formerNames
    case .reference(let relationship): relationship.formerNames
    case .position(let relationship): relationship.formerNames.map { $0 + ".position" }
    }
  }
}

extension [String] {
  /// These former names after a rename, which makes the present name a former name.
  func renamed(_ present: String, to name: String) -> [String]? {
    let names = Set(self + [present]).subtracting([name]).sorted()
    return names.isEmpty ? nil : names
  }
}
