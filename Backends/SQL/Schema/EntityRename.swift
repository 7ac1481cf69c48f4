import CoherenceCore

/// An entity whose records have another name in a store than in a model.
struct EntityRename: Sendable, Hashable {
  /// The table of the entity's hierarchy.
  let table: String
  let former: String
  let name: String
  let isRoot: Bool

  /// The statements that give the records, their index conditions and their key counter the present name.
  ///
  /// - Parameter schema: The store's schema with the model's names.
  func statements(in schema: StoredSchema, _ schemaStatements: SchemaStatements) -> [SQLFragment] {
    let all = schema.tables.first { $0.name == table }?.indexes ?? []
    let indexes = all.filter { $0.entities?.contains(name) == true }
    var statements = indexes.map { schemaStatements.dropIndex($0.name) }
    statements.append(Self.update(table, [former], to: name))
    statements += indexes.map { schemaStatements.create($0, on: table) }
    if isRoot { statements += keyStatements }
    return statements
  }

  /// The statements that give the key counter the present name. A program with the other model, which had the store
  /// open, may have begun a counter of that name, so that the greater number counts.
  private var keyStatements: [SQLFragment] {
    let keys: SQLFragment = "\(name: SQLSchema.keyTable)"
    let (entity, next): (SQLFragment, SQLFragment) = ("\(name: "entity")", "\(name: "next")")
    return [
      """
      UPDATE \(keys) SET \(next) = (SELECT MAX(\(next)) FROM \(keys) \
      WHERE \(entity) IN (\(text: former), \(text: name))) WHERE \(entity) = \(text: former)
      """,
      """
      DELETE FROM \(keys) WHERE \(entity) = \(text: name) \
      AND EXISTS (SELECT 1 FROM \(keys) WHERE \(entity) = \(text: former))
      """,
      "UPDATE \(keys) SET \(entity) = \(text: name) WHERE \(entity) = \(text: former)",
    ]
  }

  /// The statement that replaces former names of an entity in its records.
  private static func update(_ table: String, _ former: [String], to name: String) -> SQLFragment {
    """
    UPDATE \(name: table) SET \(name: SQLTable.entity) = \(text: name) \
    WHERE \(name: SQLTable.entity) \(list: former.map(AttributeValue.string), as: .string)
    """
  }

  /// The statements that rename the records that still have a former name of their entity. A program with another
  /// model, which had the store open during the rename, inserted these records afterwards.
  static func renamesOfRecordsWithFormerNames(in schema: StoredSchema, _ schemaStatements: SchemaStatements)
    -> [SQLFragment]
  {
    schema.tables.flatMap { table -> [SQLFragment] in
      let names = Set(table.entities.map(\.name))
      return table.entities.compactMap { entity in
        let former = (entity.formerNames ?? []).filter { !names.contains($0) }
        return former.isEmpty ? nil : update(table.name, former, to: entity.name)
      }
    }
  }
}

extension StoredSchema {
  /// Gives the entities the names that a model has for them.
  ///
  /// - Returns: The entities with another name in the store.
  mutating func renameEntities(for environment: StoreEnvironment) -> [EntityRename] {
    let declared = Set(environment.model.entitiesByName.keys)
    var renames: [EntityRename] = []
    for entity in environment.entities {
      guard let location = formerEntity(of: entity, besides: declared) else { continue }
      let former = tables[location.table].entities[location.entity].name
      let names = tables[location.table].entities[location.entity].formerNames ?? []
      tables[location.table].entities[location.entity].formerNames = names.renamed(former, to: entity.name)
      let isRoot = tables[location.table].root == former
      tables[location.table].rename(former, to: entity.name)
      for index in relationships.indices { relationships[index].rename(former, to: entity.name) }
      renames.append(
        EntityRename(table: tables[location.table].name, former: former, name: entity.name, isRoot: isRoot))
    }
    // A name that an entity has now is no former name of another one any more.
    for table in tables.indices {
      for index in tables[table].entities.indices {
        let names = tables[table].entities[index].formerNames?.filter { !declared.contains($0) } ?? []
        tables[table].entities[index].formerNames = names.isEmpty ? nil : names
      }
    }
    return renames
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
      if entities[index].name == former { entities[index].name = name }
      if entities[index].parent == former { entities[index].parent = name }
    }
    for index in columns.indices where columns[index].entity == former { columns[index].entity = name }
    for index in indexes.indices {
      indexes[index].entities = indexes[index].entities?.map { $0 == former ? name : $0 }.sorted()
    }
  }
}

extension StoredSchema.Relationship {
  fileprivate mutating func rename(_ former: String, to name: String) {
    if entity == former { entity = name }
    if destination == former { destination = name }
  }
}
