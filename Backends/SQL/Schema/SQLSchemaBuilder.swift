import CoherenceCore

/// Lays out the tables of a store and names them.
struct SQLSchemaBuilder {
  private let environment: StoreEnvironment
  private let dialect: any SQLDialect
  private let stored: StoredSchema?
  /// Whether indexes and constraints of the stored schema stay as they are.
  private let keepsRules: Bool
  /// The schema before a change drops parts, whose names no new part gets; `nil` without drops.
  private let former: StoredSchema?
  /// The names of tables, indexes and constraints, which share one space of names.
  private var relations: SQLNames
  /// The names of the tables, by root.
  private var tableNames: [ObjectIdentifier: String] = [:]
  /// The names of all entities in their records.
  private var recordNames: [ObjectIdentifier: String] = [:]

  init(
    environment: StoreEnvironment, dialect: any SQLDialect, stored: StoredSchema?, keepsRules: Bool,
    former: StoredSchema?
  ) {
    self.keepsRules = keepsRules
    self.former = former
    self.environment = environment
    self.dialect = dialect
    self.stored = stored
    relations = SQLNames(dialect: dialect)
    for name in [SQLSchema.metadataTable, SQLSchema.keyTable] { relations.reserve(name) }
    for name in stored?.relationNames ?? [] { relations.reserve(name) }
    for table in former?.linkTables ?? [] { relations.reserve(table.name) }
  }

  /// Lays out all tables: first the names of the tables, which foreign keys need, then the link tables, then the
  /// columns and indexes.
  mutating func build() -> SQLSchema {
    let roots = environment.roots.sorted { $0.name < $1.name }
    for root in roots {
      tableNames[ObjectIdentifier(root)] =
        stored?.table(ofRoot: root.name)?.name ?? relations.allocate([root.name], key: root.name)
    }
    nameEntities(of: roots)
    let links = environment.linkTables.map { links in
      let storedTable = stored?.linkTables.first { $0.links == links.name }
      return (links, storedTable, storedTable?.name ?? relations.allocate([links.name], key: links.name))
    }
    let linkTables = links.map { links, storedTable, name in
      SQLLinkTable(
        links: links, name: name, sourceTable: tableNames[ObjectIdentifier(links.sourceRoot)]!,
        targetTable: tableNames[ObjectIdentifier(links.targetRoot)]!,
        targetIndex: storedTable?.targetIndex ?? relations.allocate([name + ".target"], key: name + ".target"),
        isReversed: storedTable?.isReversed ?? false)
    }
    let tables = roots.map { table(for: $0) }
    return SQLSchema(
      tables: tables, linkTables: linkTables, leftOutReferences: leftOutReferences(besides: tables))
  }

  /// Chooses the names of entities in their records. A stored name stays. A new entity gets its own name, with a number
  /// if the records of a renamed entity have that name.
  private mutating func nameEntities(of roots: [EntityDescription]) {
    let storedEntities = stored?.entitiesByName ?? [:]
    var taken = Set(storedEntities.values.map(\.nameInRecords))
    for entity in roots.flatMap(\.hierarchyByName) {
      if let storedEntity = storedEntities[entity.name] {
        recordNames[ObjectIdentifier(entity)] = storedEntity.nameInRecords
        continue
      }
      var name = entity.name
      var number = 2
      while !taken.insert(name).inserted {
        name = "\(entity.name)$\(number)"
        number += 1
      }
      recordNames[ObjectIdentifier(entity)] = name
    }
  }

  /// The references that the engine checks, and that the model leaves out or does not clear.
  private func leftOutReferences(besides tables: [SQLTable]) -> [SQLLeftOutReference] {
    (stored?.tables ?? []).flatMap { stored in
      let table = tables.first { $0.root.name == stored.root }
      return stored.columns.compactMap { column -> SQLLeftOutReference? in
        guard let key = column.foreignKey, tables.contains(where: { $0.name == key.table }) else { return nil }
        if let own = table?.columns.first(where: { $0.key == column.key }) {
          // The constraint is kept for another model: the delete rules of this model do not clear the reference.
          guard case .reference(let relationship) = own.slot, own.foreignKey != nil, !relationship.isConstrained else {
            return nil
          }
        }
        let position = stored.column(SQLColumn.Key(entity: column.entity, slot: column.slot + ".position"))
        return SQLLeftOutReference(
          table: stored.name, column: column.name, position: position?.name, constraint: key.name, target: key.table,
          retainsTarget: column.retainsTarget ?? false, isTableOfModel: table != nil,
          path: "\(column.entity).\(column.slot)")
      }
    }
  }

  private mutating func table(for root: EntityDescription) -> SQLTable {
    let name = tableNames[ObjectIdentifier(root)]!
    let storedTable = stored?.table(ofRoot: root.name)
    let columns = columns(of: root, table: name, storedTable)
    let indexes = indexes(of: root, table: name, columns: columns, storedTable)
    let entities = Set(root.hierarchy.map(\.name))
    return SQLTable(
      root: root, name: name, columns: columns, indexes: indexes, recordNames: recordNames,
      hasLeftOutEntities: storedTable?.entities.contains { !$0.isAbstract && !entities.contains($0.name) } ?? false)
  }

  // MARK: Columns

  /// The columns of a hierarchy, under their stored names if they have some.
  private mutating func columns(
    of root: EntityDescription, table: String, _ storedTable: StoredSchema.Table?
  ) -> [SQLColumn] {
    var names = SQLNames(dialect: dialect)
    let formerTable = former?.table(ofRoot: root.name)
    let storedColumns = (storedTable?.columns ?? []) + (formerTable?.columns ?? [])
    for name in [SQLTable.id, SQLTable.version, SQLTable.entity] + storedColumns.map(\.name) { names.reserve(name) }
    var columns: [SQLColumn] = []
    for entity in root.hierarchyByName {
      for slot in entity.slots.dropFirst(entity.superentity?.slotCount ?? 0) {
        let key = SQLColumn.Key(slot)
        // A column that replaces a column of another type has the name of a converted column.
        let isReplacement = formerTable?.column(key) != nil
        let type = StoredSchema.Column(SQLColumn(name: slot.name, slot: slot, foreignKey: nil)).type
        let candidates = [isReplacement ? "\(slot.name)$\(type)" : slot.name, "\(slot.name)$\(entity.name)"]
        let name =
          storedTable?.column(key)?.name ?? names.allocate(candidates, key: "\(entity.name).\(slot.name)")
        let foreignKey = foreignKey(of: slot, storedTable?.column(key), column: "\(table).\(name)")
        columns.append(SQLColumn(name: name, slot: slot, foreignKey: foreignKey))
      }
    }
    return columns
  }

  /// The foreign key of a column, under its stored name if it has one.
  private mutating func foreignKey(
    of slot: Slot, _ storedColumn: StoredSchema.Column?, column: String
  ) -> SQLForeignKey? {
    if let storedColumn, keepsRules || storedColumn.retainsForeignKey == true { return storedColumn.foreignKey }
    guard case .reference(let relationship) = slot, relationship.isConstrained,
      let table = tableNames[ObjectIdentifier(relationship.destination.root)]
    else { return nil }
    if let key = storedColumn?.foreignKey, key.table == table { return key }
    let name = relations.allocate([column + ".fkey"], key: column + ".fkey")
    return SQLForeignKey(name: name, table: table)
  }

  // MARK: Indexes

  /// The indexes of a table, under their stored names if they have some: those of the model, and stored ones that other
  /// models need.
  private mutating func indexes(
    of root: EntityDescription, table: String, columns: [SQLColumn], _ storedTable: StoredSchema.Table?
  ) -> [SQLIndex] {
    var indexes: [SQLIndex] = []
    for var index in wantedIndexes(of: root, columns: columns, storedTable) {
      guard !indexes.contains(where: { $0.isEquivalent(to: index) }) else { continue }
      if keepsRules, storedTable?.lacks(index) == true { continue }
      if let stored = storedTable?.indexes.first(where: { $0.isEquivalent(to: index) }) {
        index.name = stored.name
      } else {
        let name = ([table] + index.columns).joined(separator: ".") + (index.isUnique ? ".unique" : "")
        let key = name + (index.entities ?? []).joined(separator: ",")
        index.name = relations.allocate([name], key: key)
      }
      indexes.append(index)
    }
    // Indexes of left-out columns stay, and an older model changes no index, because a newer model relies on them.
    // A model that may be older, because the store does not know it, retains indexes.
    let names = Set(columns.map(\.name)).union([SQLTable.id, SQLTable.version, SQLTable.entity])
    for index in storedTable?.indexes ?? [] where !indexes.contains(where: { $0.isEquivalent(to: index) }) {
      let isRetained = storedTable?.retainedIndexes?.contains(index.name) == true
      if keepsRules || isRetained || !names.isSuperset(of: index.columns) { indexes.append(index) }
    }
    return indexes
  }

  /// The indexes that the model asks for, and those by which references and subentities are found.
  private func wantedIndexes(
    of root: EntityDescription, columns: [SQLColumn], _ storedTable: StoredSchema.Table?
  ) -> [SQLIndex] {
    var byKey: [SQLColumn.Key: String] = [:]
    for column in columns { byKey[column.key] = column.name }
    var indexes: [SQLIndex] = []
    func names(_ properties: [PropertyDescription]) -> [String] { properties.map { byKey[SQLColumn.Key($0)]! } }
    func add(_ columns: [String], isUnique: Bool = false, entities: [String]? = nil) {
      indexes.append(SQLIndex(name: "", columns: columns, isUnique: isUnique, entities: entities))
    }
    if root.concreteEntities.count > 1 { add([SQLTable.entity]) }
    for (index, column) in columns.enumerated() {
      guard case .reference = column.slot else { continue }
      // The members of an ordered list come from their index in the order of the list.
      if index + 1 < columns.count, case .position = columns[index + 1].slot {
        add([column.name, columns[index + 1].name, SQLTable.id])
      } else {
        add([column.name])
      }
    }
    for entity in root.hierarchyByName {
      // Called for constraints alone: the names of all descendants of each entity are many.
      func members() -> [String]? {
        if entity === root { return nil }
        return entity.concreteEntities.map { recordNames[ObjectIdentifier($0)] ?? $0.name }.sorted()
      }
      for properties in environment.ownConstraints(of: entity) {
        add(names(properties), isUnique: true, entities: members())
      }
      if environment.allowsDuplicateKeys, let key = entity.keyConstraint {
        // Other programs rely on the constraint that the store has.
        let index = SQLIndex(name: "", columns: names(key), isUnique: true, entities: members())
        if storedTable?.indexes.contains(where: index.isEquivalent) == true { indexes.append(index) }
      }
      for properties in entity.indexes.dropFirst(entity.superentity?.indexes.count ?? 0) { add(names(properties)) }
    }
    return indexes
  }
}

extension EntityDescription {
  /// The hierarchy below the entity, ancestors first and siblings by name: the same for every order of declaration.
  fileprivate var hierarchyByName: [EntityDescription] {
    var entities: [EntityDescription] = []
    appendHierarchyByName(to: &entities)
    return entities
  }

  private func appendHierarchyByName(to entities: inout [EntityDescription]) {
    entities.append(self)
    for subentity in subentities.sorted(by: { $0.name < $1.name }) { subentity.appendHierarchyByName(to: &entities) }
  }
}

extension StoredSchema.Table {
  /// Whether a table with all columns of an index does not have the index.
  fileprivate func lacks(_ index: SQLIndex) -> Bool {
    !indexes.contains { $0.isEquivalent(to: index) }
      && index.columns.allSatisfy { name in
        name == SQLTable.entity || name == SQLTable.id || columns.contains { $0.name == name }
      }
  }
}
