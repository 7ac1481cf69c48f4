import CoherenceCore

/// The schema of a store, as the store records it. A later model is compared with it.
///
/// The stored schema is the union of the schemas of all models that ever opened the store. Tables and columns that a
/// model leaves out stay in the store and in the stored schema.
package struct StoredSchema: Sendable, Hashable, Codable {
  package var tables: [Table]
  package var linkTables: [LinkTable]
  package var relationships: [Relationship]

  /// The table of a hierarchy.
  package struct Table: Sendable, Hashable, Codable {
    package var root: String
    package var name: String
    package var entities: [Entity]
    package var columns: [Column]
    package var indexes: [SQLIndex]
    /// The names of the indexes that stay for another model, though the newest model neither asks for them nor leaves
    /// out their columns; see ``StoredSchema/retainRules(besides:)``. Never empty: `nil` for none.
    package var retainedIndexes: [String]?

    package func column(_ key: SQLColumn.Key) -> Column? {
      columns.first { $0.entity == key.entity && $0.slot == key.slot }
    }
  }

  /// An entity whose records the table of its hierarchy has.
  package struct Entity: Sendable, Hashable, Codable {
    package var name: String
    package var parent: String?
    package var isAbstract: Bool
    /// The names that the entity has in other models; `nil` for none.
    package var formerNames: [String]?
    /// The name that the records have for the entity, which a rename does not change; `nil` for ``name``.
    package var recordName: String?
  }

  /// The column of a property, or of a position among the members of an ordered relationship.
  package struct Column: Sendable, Hashable, Codable {
    /// The entity that declares the property.
    package var entity: String
    package var slot: String
    package var name: String
    /// The kind of the column's values: the attribute's type, `reference` or `position`.
    package var type: String
    package var isOptional: Bool
    package var foreignKey: SQLForeignKey?
    /// The names that the slot has in other models, by their renaming identifiers. Never empty: `nil` for none.
    package var formerSlots: [String]?
    /// Whether a program that leaves the column out must not delete the record that the column refers to: the
    /// relationship is required, or its inverse denies the delete. `nil` for no.
    package var retainsTarget: Bool?
    /// Whether the newest model leaves the column out. `nil` if that is unknown: an earlier version of the framework
    /// has recorded the newest model.
    package var isLeftOut: Bool?
    /// Whether the engine writes a default into the column for a program that does not know the column. `nil` for
    /// unknown: an earlier version of the framework has made the column.
    package var hasEngineDefault: Bool?
    /// Whether the engine keeps checking the references for another model, though the newest model does not ask for the
    /// check; see ``StoredSchema/retainRules(besides:)``. `nil` for no.
    package var retainsForeignKey: Bool?
    /// Whether the values are derived, and can be computed again. `nil` for no, or for unknown: an earlier version of
    /// the framework has recorded the column.
    package var isDerived: Bool?

    package var key: SQLColumn.Key { SQLColumn.Key(entity: entity, slot: slot) }
  }

  /// The table of a relationship stored as links.
  package struct LinkTable: Sendable, Hashable, Codable {
    /// The name of the links in the model.
    package var links: String
    package var name: String
    package var sourceTable: String
    package var targetTable: String
    package var targetIndex: String
    /// Whether the sources are in the column of the targets, because the relationships have names of another order than
    /// they had when the table was made. `nil` for no.
    package var isReversed: Bool?

    /// The links as their inverse has them.
    mutating func reverse() {
      swap(&sourceTable, &targetTable)
      isReversed = isReversed == true ? nil : true
    }
  }

  /// A relationship, recorded because columns and link tables do not show its kind on both sides.
  package struct Relationship: Sendable, Hashable, Codable {
    package var entity: String
    package var name: String
    package var destination: String
    package var isToMany: Bool
    /// The storage of the relationship: `column`, `inverse` or `links`.
    package var storage: String
    /// The names that the relationship has in other models; `nil` for none.
    package var formerNames: [String]?
  }
}

extension StoredSchema {
  /// The schema of a store without tables.
  static let empty = StoredSchema(tables: [], linkTables: [], relationships: [])

  package init(_ schema: SQLSchema) {
    tables = schema.tables.map(Table.init)
    linkTables = schema.linkTables.map {
      LinkTable(
        links: $0.links.name, name: $0.name, sourceTable: $0.sourceTable, targetTable: $0.targetTable,
        targetIndex: $0.targetIndex, isReversed: $0.isReversed ? true : nil)
    }
    relationships = schema.tables.flatMap { $0.root.hierarchy }
      .flatMap { entity in entity.relationships.filter { $0.entity === entity } }
      .map(Relationship.init)
  }

  package func table(ofRoot root: String) -> Table? { tables.first { $0.root == root } }

  /// The names that tables, indexes and constraints have.
  var relationNames: [String] {
    var names: [String] = []
    for table in tables {
      names.append(table.name)
      names += table.indexes.map(\.name)
      names += table.columns.compactMap { $0.foreignKey?.name }
    }
    for table in linkTables { names += [table.name, table.targetIndex] }
    return names
  }

  /// The entities by name. A name stands for one entity: a model with the entity in another hierarchy is refused.
  var entitiesByName: [String: Entity] {
    Dictionary(tables.flatMap(\.entities).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The names of an entity and of its subentities at all levels.
  func entityNames(from entity: String) -> [String] {
    let children = Dictionary(grouping: tables.flatMap(\.entities), by: \.parent)
    var names: Set<String> = []
    var pending = [entity]
    // A damaged store may list an entity twice, below itself.
    while let name = pending.popLast() {
      guard names.insert(name).inserted else { continue }
      pending += (children[name] ?? []).map(\.name)
    }
    return names.sorted()
  }

  /// Whether an entity is its own ancestor, as in a damaged store alone.
  var hasCircularHierarchy: Bool {
    let entities = entitiesByName
    var checked: Set<String> = []
    for name in entities.keys {
      var path: Set<String> = []
      var current: String? = name
      while let next = current, !checked.contains(next) {
        guard path.insert(next).inserted else { return true }
        current = entities[next]?.parent
      }
      checked.formUnion(path)
    }
    return false
  }
}

// MARK: - Union

extension StoredSchema {
  /// The schema without what a change drops, and without the indexes of dropped columns.
  func dropping(_ drops: SchemaDrops) -> StoredSchema {
    var result = self
    for index in result.tables.indices {
      let root = result.tables[index].root
      let names = drops.columns.filter { $0.root == root }.compactMap { result.tables[index].column($0.key)?.name }
      result.tables[index].columns.removeAll { names.contains($0.name) }
      result.tables[index].indexes.removeAll { !Set($0.columns).isDisjoint(with: names) }
      result.tables[index].entities.removeAll { drops.entities[root]?.contains($0.name) == true }
    }
    result.linkTables.removeAll { drops.linkTables.contains($0.name) }
    return result
  }

  /// The union with another schema, which wins where both have a part. Parts that the other schema leaves out stay.
  ///
  /// - Parameter isNewest: Whether the other schema is that of a model which becomes the newest model of the store.
  func merging(_ wanted: StoredSchema, isNewest: Bool = false) -> StoredSchema {
    var result = StoredSchema.empty
    result.tables = tables.map { table in wanted.table(ofRoot: table.root).map(table.merging) ?? table }
    result.tables += wanted.tables.filter { table(ofRoot: $0.root) == nil }
    if isNewest {
      result.tables = result.tables.map { $0.markingColumns(besides: wanted.table(ofRoot: $0.root)) }
    }
    let newLinks = Set(wanted.linkTables.map(\.links))
    result.linkTables =
      wanted.linkTables
      + linkTables.filter { !newLinks.contains($0.links) }
    let newRelationships = Set(wanted.relationships.map { [$0.entity, $0.name] })
    result.relationships =
      wanted.relationships.map { wanted in
        var wanted = wanted
        wanted.formerNames =
          relationships.first { $0.entity == wanted.entity && $0.name == wanted.name }?.formerNames
        return wanted
      } + relationships.filter { !newRelationships.contains([$0.entity, $0.name]) }
    return result.sorted
  }

  /// The schema with sorted parts, so that equal schemas compare and encode equally.
  private var sorted: StoredSchema {
    var result = self
    result.tables.sort { $0.root < $1.root }
    for index in result.tables.indices {
      result.tables[index].entities.sort { $0.name < $1.name }
      result.tables[index].columns.sort { ($0.entity, $0.slot) < ($1.entity, $1.slot) }
      result.tables[index].indexes.sort { $0.name < $1.name }
    }
    result.linkTables.sort { $0.links < $1.links }
    result.relationships.sort { ($0.entity, $0.name) < ($1.entity, $1.name) }
    return result
  }
}

extension StoredSchema.Table {
  /// The union with another description of the table, which wins where both have a part. The indexes are those of the
  /// other description, because a layout lists every index that stays.
  fileprivate func merging(_ wanted: StoredSchema.Table) -> StoredSchema.Table {
    var result = wanted
    let entityNames = Set(wanted.entities.map(\.name))
    result.entities = wanted.entities.map { entity in
      var entity = entity
      entity.formerNames = entities.first { $0.name == entity.name }?.formerNames
      return entity
    }
    result.entities += entities.filter { !entityNames.contains($0.name) }
    let keys = Set(wanted.columns.map(\.key))
    result.columns = wanted.columns.map { column in
      var column = column
      guard let stored = self.column(column.key) else { return column }
      column.formerSlots = stored.formerSlots
      column.isLeftOut = stored.isLeftOut
      column.retainsForeignKey = column.foreignKey == nil ? nil : stored.retainsForeignKey
      // A column keeps the default with which it was made.
      column.hasEngineDefault = stored.hasEngineDefault ?? column.hasEngineDefault
      return column
    }
    result.columns += columns.filter { !keys.contains($0.key) }
    let indexNames = Set(wanted.indexes.map(\.name))
    let retained = retainedIndexes?.filter { indexNames.contains($0) } ?? []
    result.retainedIndexes = retained.isEmpty ? nil : retained
    return result
  }
}

// MARK: - Descriptions

extension StoredSchema.Table {
  init(_ table: SQLTable) {
    self.init(
      root: table.root.name, name: table.name,
      entities: table.root.hierarchy.map {
        let recordName = table.recordName(of: $0)
        return StoredSchema.Entity(
          name: $0.name, parent: $0.superentity?.name, isAbstract: $0.isAbstract,
          recordName: recordName == $0.name ? nil : recordName)
      },
      columns: table.columns.map {
        var column = StoredSchema.Column($0)
        column.hasEngineDefault = table.allowsEngineDefault(of: $0)
        return column
      }, indexes: table.indexes)
  }
}

extension StoredSchema.Column {
  init(_ column: SQLColumn) {
    var isOptional = true
    var retainsTarget: Bool?
    var isDerived: Bool?
    let type: String
    switch column.slot {
    case .attribute(let attribute):
      type = attribute.type.canonicalName
      isOptional = attribute.isOptional
      if attribute.derivation != nil { isDerived = true }
    case .reference(let relationship):
      type = "reference"
      if !relationship.isOptional || relationship.inverse?.deleteRule == .deny { retainsTarget = true }
    case .position: type = "position"
    }
    self.init(
      entity: column.key.entity, slot: column.key.slot, name: column.name, type: type, isOptional: isOptional,
      foreignKey: column.foreignKey, retainsTarget: retainsTarget, isDerived: isDerived)
  }
}

extension StoredSchema.Relationship {
  init(_ relationship: RelationshipDescription) {
    let storage =
      switch relationship.storage {
      case .column: "column"
      case .inverseColumn: "inverse"
      case .links: "links"
      }
    self.init(
      entity: relationship.entity.name, name: relationship.name, destination: relationship.destination.name,
      isToMany: relationship.isToMany, storage: storage)
  }
}
