import CoherenceCore

/// The way from the schema that a store has to the one that a model asks for: statements to run in one transaction.
package struct SchemaMigration: Sendable {
  /// The statements, in order. Empty when there is nothing to do.
  package private(set) var statements: [SQLFragment] = []
  private let definition: SchemaDefinition
  private let new: SQLSchema

  /// All that a fresh store needs.
  package init(creating schema: SQLSchema, dialect: any SQLDialect) {
    definition = SchemaDefinition(dialect: dialect)
    new = schema
    statements = definition.bookkeeping
    createTables(besides: nil)
  }

  /// What an existing store lacks and has too much.
  ///
  /// - Throws: ``ErrorCode/incompatibleModel``, with every difference that is more than an addition or an omission.
  package init(from old: StoredSchema, to schema: SQLSchema, dialect: any SQLDialect) throws {
    definition = SchemaDefinition(dialect: dialect)
    new = schema
    let faults = SchemaDifferences(from: old, to: schema).sentences
    guard faults.isEmpty else {
      throw CoherenceError(
        .incompatibleModel,
        "The store cannot be extended to the model: \(faults.joined(separator: " ")) "
          + "Migrate it with a program of your own, or set it aside with `overwriteIncompatibleStore`.")
    }
    dropIndexes(of: old)
    dropLeftOut(old)
    createTables(besides: old)
    extendTables(old)
    createIndexes(besides: old)
  }

  // MARK: Adding

  private mutating func createTables(besides old: StoredSchema?) {
    let tables = new.tables.filter { old?.table(ofRoot: $0.root.name) == nil }
    statements += tables.map { definition.create($0) }
    for table in tables {
      statements += table.columns.compactMap { definition.addConstraint($0, to: table.name) }
      if old == nil { statements += table.indexes.map { definition.create($0, on: table.name) } }
    }
    for table in new.linkTables where !isKnown(table, in: old) {
      statements += [definition.create(table), definition.createTargetIndex(table)]
    }
  }

  private func isKnown(_ table: SQLLinkTable, in old: StoredSchema?) -> Bool {
    old?.linkTables.contains { $0.links == table.links.name } ?? false
  }

  private mutating func extendTables(_ old: StoredSchema) {
    for table in new.tables {
      guard let known = old.table(ofRoot: table.root.name) else { continue }
      let entities = Set(known.entities.map(\.name))
      for column in table.columns {
        if let stored = known.column(column.key) {
          if stored.foreignKey?.table != column.foreignKey?.table {
            statements += definition.changeReference(column, from: stored.foreignKey, of: table.name)
          }
          if stored.isOptional, !StoredSchema.Column(column).isOptional { fill(column, of: table) }
        } else {
          statements.append(definition.add(column, to: table.name))
          statements += [definition.addConstraint(column, to: table.name)].compactMap { $0 }
          if entities.contains(column.key.entity), !column.defaultValue.isNull { fill(column, of: table) }
        }
      }
    }
  }

  /// Gives the default to the records that have no value.
  private mutating func fill(_ column: SQLColumn, of table: SQLTable) {
    let entities = column.slot.entity.concreteEntities.map { AttributeValue.string($0.name) }
    guard !entities.isEmpty else { return }
    statements.append(
      """
      UPDATE \(name: table.name) SET \(name: column.name) = \(value: column.defaultValue, as: column.storage) \
      WHERE \(name: column.name) IS NULL AND \(name: SQLTable.entity) \(list: entities, as: .string)
      """)
  }

  // MARK: Leaving out

  private mutating func dropLeftOut(_ old: StoredSchema) {
    let links = Set(new.linkTables.map(\.links.name))
    for table in old.linkTables where !links.contains(table.links) {
      statements.append(definition.dropTable(table.name))
    }
    let dropped = old.tables.filter { table in !new.tables.contains { $0.root.name == table.root } }
    // References between tables that go first, so that the tables can go in any order.
    for table in dropped {
      let references = table.columns.filter { $0.foreignKey != nil }
      statements += references.map { definition.dropColumn($0.name, of: table.name) }
    }
    for table in new.tables {
      guard let known = old.table(ofRoot: table.root.name) else { continue }
      let wanted = Set(table.columns.map(\.key))
      for column in known.columns where !wanted.contains(SQLColumn.Key(entity: column.entity, slot: column.slot)) {
        statements.append(definition.dropColumn(column.name, of: table.name))
      }
    }
    for table in new.tables { deleteRecordsLeftOut(of: table, old) }
    statements += dropped.map { definition.dropTable($0.name) }
  }

  /// Removes the records of entities that the model does not have any more, and the references to them.
  private mutating func deleteRecordsLeftOut(of table: SQLTable, _ old: StoredSchema) {
    guard let known = old.table(ofRoot: table.root.name) else { return }
    let wanted = Set(table.root.hierarchy.map(\.name))
    let gone = known.entities.map(\.name).filter { !wanted.contains($0) }.map(AttributeValue.string)
    guard !gone.isEmpty else { return }
    for other in old.tables {
      guard let kept = new.tables.first(where: { $0.root.name == other.root }) else { continue }
      let keys = Set(kept.columns.map(\.key))
      for column in other.columns
      where column.foreignKey?.table == table.name
        && keys.contains(SQLColumn.Key(entity: column.entity, slot: column.slot))
      {
        statements.append(
          """
          UPDATE \(name: other.name) SET \(name: column.name) = NULL WHERE \(name: column.name) IN \
          (SELECT \(name: SQLTable.id) FROM \(name: table.name) \
          WHERE \(name: SQLTable.entity) \(list: gone, as: .string))
          """)
      }
    }
    statements.append("DELETE FROM \(name: table.name) WHERE \(name: SQLTable.entity) \(list: gone, as: .string)")
  }

  // MARK: Indexes

  /// Whether an index outlives the migration. Where columns go or are replaced, every index is made anew.
  private func isKept(_ index: SQLIndex, of table: StoredSchema.Table) -> Bool {
    guard let wanted = new.tables.first(where: { $0.root.name == table.root }) else { return false }
    let isRebuilt = table.columns.contains { stored in
      let column = wanted.columns.first { $0.key == SQLColumn.Key(entity: stored.entity, slot: stored.slot) }
      return column == nil || column?.foreignKey?.table != stored.foreignKey?.table
    }
    return !isRebuilt && wanted.indexes.contains(index)
  }

  private mutating func dropIndexes(of old: StoredSchema) {
    for table in old.tables {
      for index in table.indexes where !isKept(index, of: table) { statements.append(definition.dropIndex(index.name)) }
    }
  }

  private mutating func createIndexes(besides old: StoredSchema) {
    for table in new.tables {
      let known = old.table(ofRoot: table.root.name)
      for index in table.indexes {
        if let known, known.indexes.contains(index), isKept(index, of: known) { continue }
        statements.append(definition.create(index, on: table.name))
      }
    }
  }
}
