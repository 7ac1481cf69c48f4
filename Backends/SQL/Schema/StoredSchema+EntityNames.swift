import CoherenceCore

// A record has the name of its entity. Like tables and columns, records keep the name that they were made with when a
// model renames the entity, because programs with either model may have the store open at the same time.

extension StoredSchema.Entity {
  /// The name of the entity in its records, in the conditions of indexes, and in the table of keys.
  var nameInRecords: String { recordName ?? name }
}

extension StoredSchema.Table {
  /// The other names of an entity that its records may have, in place of the name in records.
  ///
  /// Earlier versions of the framework replaced the name in the records, while a program with another model could
  /// insert further records with the former name. For a model from before the rename, the former name is the name of
  /// the entity, and the later name is that of the records.
  fileprivate func otherRecordNames(of entity: StoredSchema.Entity) -> [String] {
    // Without a former name, a differing name in records belongs to a new entity: the entity's own name is that of the
    // records of a renamed entity.
    guard let formerNames = entity.formerNames else { return [] }
    let entityNames = Set(entities.map(\.name))
    let recordNames = Set(entities.map(\.nameInRecords))
    let names = [entity.name] + formerNames.filter { !entityNames.contains($0) }
    return names.filter { !recordNames.contains($0) }
  }
}

extension StoredSchema {
  /// The names that the records of entities may have.
  func recordNames(of entities: [String]) -> [String] {
    entities.flatMap { name -> [String] in
      for table in tables {
        guard let entity = table.entities.first(where: { $0.name == name }) else { continue }
        return [entity.nameInRecords] + table.otherRecordNames(of: entity)
      }
      return [name]
    }
  }

  /// The statements that give the name in records to the records that have another name of their entity.
  func renamesOfRecordsWithFormerNames() -> [SQLFragment] {
    tables.flatMap { table -> [SQLFragment] in
      table.entities.compactMap { entity -> SQLFragment? in
        let names = table.otherRecordNames(of: entity)
        guard !names.isEmpty else { return nil }
        return """
          UPDATE \(name: table.name) SET \(name: SQLTable.entity) = \(text: entity.nameInRecords) \
          WHERE \(name: SQLTable.entity) \(list: names.map(AttributeValue.string), as: .string)
          """
      }
    }
  }

  // MARK: Renaming

  /// Gives the entities the names that a model has for them.
  mutating func renameEntities(for environment: StoreEnvironment) {
    let declared = Set(environment.model.entitiesByName.keys)
    for entity in environment.entities {
      guard let location = formerEntity(of: entity, besides: declared) else { continue }
      let former = tables[location.table].entities[location.entity].name
      let names = tables[location.table].entities[location.entity].formerNames ?? []
      tables[location.table].entities[location.entity].formerNames = names.renamed(former, to: entity.name)
      tables[location.table].rename(former, to: entity.name)
      for index in relationships.indices { relationships[index].rename(former, to: entity.name) }
    }
    // A name that an entity has now is no former name of another one any more.
    for table in tables.indices {
      for index in tables[table].entities.indices {
        let names = tables[table].entities[index].formerNames?.filter { !declared.contains($0) } ?? []
        tables[table].entities[index].formerNames = names.isEmpty ? nil : names
      }
    }
  }

  /// The entity's location in the store, under a former name.
  private func formerEntity(
    of entity: EntityDescription, besides declared: Set<String>
  ) -> (table: Int, entity: Int)? {
    guard entitiesByName[entity.name] == nil else { return nil }
    let name = RenamedName(name: entity.name, formerNames: entity.formerNames)
    let stored = tables.enumerated().flatMap { table, stored in
      stored.entities.enumerated().map { (table: table, entity: $0.offset, description: $0.element) }
    }
    let names = stored.map { RenamedName.Stored(name: $0.description.name, formerNames: $0.description.formerNames) }
    return name.index(among: names, besides: declared).map { (stored[$0].table, stored[$0].entity) }
  }
}

extension StoredSchema.Table {
  fileprivate mutating func rename(_ former: String, to name: String) {
    if root == former { root = name }
    for index in entities.indices {
      if entities[index].name == former {
        let recordName = entities[index].nameInRecords
        entities[index].name = name
        entities[index].recordName = recordName == name ? nil : recordName
      }
      if entities[index].parent == former { entities[index].parent = name }
    }
    for index in columns.indices where columns[index].entity == former { columns[index].entity = name }
  }
}

extension StoredSchema.Relationship {
  fileprivate mutating func rename(_ former: String, to name: String) {
    if entity == former { entity = name }
    if destination == former { destination = name }
  }
}
