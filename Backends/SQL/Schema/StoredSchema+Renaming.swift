import CoherenceCore

// A model may name a property otherwise than the model that wrote it down. The column keeps its name in the engine for
// ever: programs with either model may have the store open at once. Only the description is renamed.

extension StoredSchema {
  /// The schema with the names that a model's properties have, where the model's renaming identifiers, or those of the
  /// models before, say that they are the same.
  func renamed(for environment: StoreEnvironment) -> StoredSchema {
    var result = self
    let entities = environment.entities
    for entity in entities {
      guard let index = result.tables.firstIndex(where: { $0.root == entity.root.name }) else { continue }
      result.tables[index].renameColumns(of: entity)
    }
    // Links are named after relationships: their former names are found with the relationships' former names.
    let links = environment.linkTables.map { ($0, Self.formerName(of: $0, in: self)) }
    for entity in entities { result.renameRelationships(of: entity) }
    for (links, former) in links {
      guard let former, let index = result.linkTables.firstIndex(where: { $0.links == former }),
        !result.linkTables.contains(where: { $0.links == links.name })
      else { continue }
      result.linkTables[index].links = links.name
    }
    return result
  }

  // MARK: Relationships

  /// The name that the store has for a relationship, when it is another one.
  private func formerName(of relationship: RelationshipDescription) -> String? {
    let known = relationships.filter { $0.entity == relationship.entity.name }
    if known.contains(where: { $0.name == relationship.name }) { return nil }
    let declared = Set(relationship.entity.relationships.map(\.name))
    return known.first { stored in
      !declared.contains(stored.name)
        && (stored.name == relationship.renamingIdentifier
          || stored.formerNames?.contains(relationship.name) == true
          || relationship.renamingIdentifier.map { stored.formerNames?.contains($0) == true } ?? false)
    }?.name
  }

  private mutating func renameRelationships(of entity: EntityDescription) {
    for relationship in entity.relationships where relationship.entity === entity {
      guard let former = formerName(of: relationship),
        let index = relationships.firstIndex(where: { $0.entity == entity.name && $0.name == former })
      else { continue }
      relationships[index].name = relationship.name
      relationships[index].formerNames = (relationships[index].formerNames ?? []).renamed(former, to: relationship.name)
    }
  }

  /// The name that the store has for links whose relationships were renamed; `nil` when neither was.
  private static func formerName(of links: CoherenceCore.LinkTable, in stored: StoredSchema) -> String? {
    func path(_ relationship: RelationshipDescription) -> String {
      "\(relationship.entity.name).\(stored.formerName(of: relationship) ?? relationship.name)"
    }
    let name = ([links.forward] + [links.backward].compactMap { $0 }).map(path).joined(separator: "-")
    return name == links.name ? nil : name
  }
}

extension StoredSchema.Table {
  /// Gives the columns of an entity's own slots the names that the slots have now.
  fileprivate mutating func renameColumns(of entity: EntityDescription) {
    let own = entity.slots.dropFirst(entity.superentity?.slotCount ?? 0)
    let declared = Set(own.map(\.name))
    for slot in own where column(SQLColumn.Key(slot)) == nil {
      let index = columns.firstIndex { stored in
        stored.entity == entity.name && !declared.contains(stored.slot)
          && (stored.slot == slot.renamingIdentifier || stored.formerSlots?.contains(slot.name) == true
            || slot.renamingIdentifier.map { stored.formerSlots?.contains($0) == true } ?? false)
      }
      guard let index else { continue }
      let former = columns[index].slot
      columns[index].slot = slot.name
      columns[index].formerSlots = (columns[index].formerSlots ?? []).renamed(former, to: slot.name)
    }
    // A name that a property of its own has now is no former name of another one any more.
    for index in columns.indices where columns[index].entity == entity.name {
      let names = columns[index].formerSlots?.filter { !declared.contains($0) } ?? []
      columns[index].formerSlots = names.isEmpty ? nil : names
    }
  }
}

extension Slot {
  /// The name that the slot had in an earlier model.
  var renamingIdentifier: String? {
    switch self {
    case .attribute(let attribute): attribute.renamingIdentifier
    case .reference(let relationship): relationship.renamingIdentifier
    case .position(let relationship): relationship.renamingIdentifier.map { $0 + ".position" }
    }
  }
}

extension [String] {
  /// Former names once the present one was replaced by another.
  fileprivate func renamed(_ present: String, to name: String) -> [String]? {
    let names = Set(self + [present]).subtracting([name]).sorted()
    return names.isEmpty ? nil : names
  }
}
