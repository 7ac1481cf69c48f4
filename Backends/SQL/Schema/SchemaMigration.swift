import CoherenceCore

/// The migration of a store's schema to a model: statements to run in one transaction.
///
/// Tables and columns that the model leaves out stay. Dropped are only the parts that ``SchemaDrops`` names, after
/// ``SchemaChange/resolve(_:)`` has counted their values: parts that the model has in another form, and records of
/// entities that the model leaves out of a hierarchy. The parts are empty, or the user allows the loss.
package struct SchemaMigration: Sendable {
  /// The stages before the statements: conversions, each with the statements that precede it.
  package private(set) var stages: [SchemaStage] = []
  /// The statements, in order. Empty when the store needs no change.
  package private(set) var statements: [SQLFragment] = []
  /// The statements, among ``statements`` if the user has the right to change the store, that correct records of
  /// programs with another model: they fill in required values, and replace former names of entities that earlier
  /// versions of the framework left.
  private var completion: [SQLFragment] = []
  /// The unique indexes of existing tables, to be made after all statements and a check of the records for duplicates.
  private(set) var constraints: [SchemaConstraint] = []
  /// The names of the tables in which the statements compute the present values of derived attributes anew.
  private(set) var derivedTables: Set<String> = []
  private let schemaStatements: SchemaStatements
  /// The schema of the model.
  private let new: SQLSchema
  /// The parts to drop.
  private let drops: SchemaDrops
  /// The columns that a new column of another type replaces.
  private let converted: Set<SchemaDrops.Column>
  /// Whether a program has opened the store with the model before.
  private let isKnownModel: Bool
  /// Whether a program with another model opened the store last.
  private let wasOpenedByOtherModel: Bool
  /// The names of entities whose derived values another model may have computed, or left out.
  private let rederived: Set<String>

  /// Makes the migration of an empty store, which creates every table.
  package init(creating schema: SQLSchema, dialect: any SQLDialect) {
    schemaStatements = SchemaStatements(dialect: dialect)
    new = schema
    drops = SchemaDrops()
    converted = []
    isKnownModel = false
    wasOpenedByOtherModel = false
    rederived = []
    statements = schemaStatements.bookkeeping
    createTables(missingIn: nil)
  }

  /// Makes the migration of an existing store, which adds missing parts and converts parts of another form.
  ///
  /// - Parameters:
  ///   - schema: The schema of the model.
  ///   - isKnownModel: Whether a program has opened the store with the model before.
  ///   - wasOpenedByOtherModel: Whether a program with another model opened the store last, which may have written
  ///     records without values that the model requires.
  ///   - completes: Whether records of programs with another model are corrected.
  ///   - rederived: The names of entities that the last model did not have in the same form.
  init(
    from source: MigrationSource, to schema: SQLSchema, isKnownModel: Bool, wasOpenedByOtherModel: Bool,
    completes: Bool, rederiving rederived: Set<String>, dialect: any SQLDialect
  ) {
    let (old, remaining) = (source.stored, source.remaining)
    self.isKnownModel = isKnownModel
    self.wasOpenedByOtherModel = wasOpenedByOtherModel
    self.rederived = rederived
    schemaStatements = SchemaStatements(dialect: dialect)
    new = schema
    drops = source.drops
    let changed = source.conversions.filter { !$0.isIdentity(in: dialect) }
    converted = Set(changed.map { SchemaDrops.Column(root: $0.root, key: $0.key) })
    if wasOpenedByOtherModel { completion = old.renamesOfRecordsWithFormerNames() }
    // While the indexes find the references to the records.
    deleteRecords(from: old)
    dropIndexes(of: old)
    drop(from: old)
    for conversion in changed { convert(conversion, in: old) }
    createTables(missingIn: remaining)
    extendTables(remaining)
    // Before other values are derived from the corrected values.
    if completes { statements += completion }
    derive(remaining)
    // The members of each owner are found by the index of their references.
    createIndexes(missingIn: old)
    deriveFromOthers(remaining)
  }

  // MARK: Adding

  /// Creates the tables and link tables that the store does not have, with their constraints, and in an empty store
  /// also the indexes of the tables. In an existing store `createIndexes` creates the indexes.
  private mutating func createTables(missingIn remaining: StoredSchema?) {
    let tables = new.tables.filter { remaining?.table(ofRoot: $0.root.name) == nil }
    statements += tables.map { schemaStatements.create($0) }
    for table in tables {
      statements += table.columns.compactMap { schemaStatements.addConstraint($0, to: table.name) }
      if remaining == nil { statements += table.indexes.map { schemaStatements.create($0, on: table.name) } }
    }
    for table in new.linkTables where !isStored(table, in: remaining) {
      statements += [schemaStatements.create(table), schemaStatements.createTargetIndex(table)]
    }
  }

  private func isStored(_ table: SQLLinkTable, in remaining: StoredSchema?) -> Bool {
    remaining?.linkTables.contains { $0.links == table.links.name } ?? false
  }

  /// Adds missing columns to existing tables, changes the constraints of existing columns, and gives records the
  /// default where the model requires a value.
  private mutating func extendTables(_ remaining: StoredSchema) {
    for table in new.tables {
      guard let storedTable = remaining.table(ofRoot: table.root.name) else { continue }
      let entities = Set(storedTable.entities.map(\.name))
      for column in table.columns {
        if let stored = storedTable.column(column.key) {
          if stored.foreignKey?.table != column.foreignKey?.table {
            statements += schemaStatements.changeReference(column, from: stored.foreignKey, of: table)
          }
          if !StoredSchema.Column(column).isOptional, !column.defaultValue.isNull,
            let fill = fill(column, of: table)
          {
            if stored.isOptional {
              if fillsGaps(of: column, in: table) { statements.append(fill) }
            } else if wasOpenedByOtherModel, mayLackEngineDefault(column, stored, of: table) {
              completion.append(fill)
            }
          }
        } else {
          statements.append(schemaStatements.add(column, to: table))
          statements += [schemaStatements.addConstraint(column, to: table.name)].compactMap { $0 }
          let isFilled = schemaStatements.defaultClause(of: column, in: table) != nil
          if entities.contains(column.key.entity), !column.defaultValue.isNull, !isFilled {
            statements += [fill(column, of: table)].compactMap { $0 }
          }
        }
      }
    }
  }

  /// Whether a program that does not know a column may write records without a value there, because the column has no
  /// default in the engine: the attribute got the default later. Columns of unique indexes do not count: a second
  /// record with the default would be a duplicate.
  private func mayLackEngineDefault(_ column: SQLColumn, _ stored: StoredSchema.Column, of table: SQLTable) -> Bool {
    table.allowsEngineDefault(of: column)
      && (column.slot.entity !== table.root || stored.hasEngineDefault == false)
  }

  /// Whether records without a value get the default of an attribute that became required. In a column of a unique
  /// index, a second record with the default would be a duplicate: the check of the records refuses a new model, and a
  /// known model opens the store with the gaps that a program with another model left.
  private func fillsGaps(of column: SQLColumn, in table: SQLTable) -> Bool {
    !isKnownModel || !table.indexes.contains { $0.isUnique && $0.columns.contains(column.name) }
  }

  /// The statement that gives the default to the records without a value; `nil` when no entity has such records.
  private func fill(_ column: SQLColumn, of table: SQLTable) -> SQLFragment? {
    let entities = table.recordNames(of: column.slot.entity).map(AttributeValue.string)
    guard !entities.isEmpty else { return nil }
    return """
      UPDATE \(name: table.name) SET \(name: column.name) = \(value: column.defaultValue, as: column.storage) \
      WHERE \(name: column.name) IS NULL AND \(name: SQLTable.entity) \(list: entities, as: .string)
      """
  }

  // MARK: Deriving

  /// Computes the values that existing records derive from their own attributes, after all columns were added.
  private mutating func derive(_ remaining: StoredSchema) {
    for table in new.tables {
      guard let storedTable = remaining.table(ofRoot: table.root.name) else { continue }
      for column in table.columns {
        guard case .attribute(let attribute) = column.slot, let derivation = attribute.derivation,
          storedTable.column(column.key) == nil || rederived.contains(attribute.entity.name),
          let text = derivation.source.flatMap({ attribute.entity.attribute(named: $0) }),
          let source = table.column(of: text)
        else { continue }
        if storedTable.column(column.key) != nil { derivedTables.insert(table.name) }
        let step = ConversionStep(
          table: table.name, column: column, former: source.name, storage: source.storage,
          entities: table.recordNames(of: attribute.entity), conversion: { derivation.value(from: $0) })
        stages.append(SchemaStage(statements: statements, conversion: step))
        statements = []
      }
    }
  }

  /// Computes the values that existing records derive from other records, with one statement for each column. The
  /// versions of the records do not change, as for all values that a migration computes.
  private mutating func deriveFromOthers(_ remaining: StoredSchema) {
    let expression = DerivedExpression(schema: new, dialect: schemaStatements.dialect)
    for table in new.tables {
      guard let storedTable = remaining.table(ofRoot: table.root.name) else { continue }
      for column in table.columns {
        guard case .attribute(let attribute) = column.slot, let derivation = attribute.relationshipDerivation,
          storedTable.column(column.key) == nil || isRederived(derivation),
          let value = try? expression.value(of: derivation, owner: table.name)
        else { continue }
        if storedTable.column(column.key) != nil { derivedTables.insert(table.name) }
        let entities = table.recordNames(of: attribute.entity).map(AttributeValue.string)
        statements.append(
          """
          UPDATE \(name: table.name) SET \(name: column.name) = \(value) \
          WHERE \(name: SQLTable.entity) \(list: entities, as: .string)
          """)
      }
    }
  }

  /// Whether the last model had an entity in another form that the values depend on, or the migration deletes records
  /// that the values depend on.
  private func isRederived(_ derivation: RelationshipDerivation) -> Bool {
    let entities = [derivation.attribute.entity] + derivation.relationships.map(\.destination)
    return entities.contains { entity in
      drops.entities[entity.root.name] != nil || entity.hierarchy.contains { rederived.contains($0.name) }
    }
  }

  // MARK: Converting

  /// Puts a column of the new type in the place of the old one. The indexes of the column must have been dropped.
  private mutating func convert(_ conversion: ColumnConversion, in old: StoredSchema) {
    guard let table = new.tables.first(where: { $0.root.name == conversion.root }),
      let column = table.columns.first(where: { $0.key == conversion.key }),
      let former = old.table(ofRoot: conversion.root)?.column(conversion.key)?.name
    else { return }
    let entities = old.recordNames(of: conversion.entities)
    statements.append(schemaStatements.add(column, to: table))
    switch conversion.method {
    case .numbers(let numbers):
      let value = numbers.converted("\(name: former)", schemaStatements.dialect)
      statements.append(
        """
        UPDATE \(name: table.name) SET \(name: column.name) = \(value) \
        WHERE \(name: SQLTable.entity) \(list: entities.map(AttributeValue.string), as: .string)
        """)
    case .custom(let rule, let storage):
      let step = ConversionStep(
        table: table.name, column: column, former: former, storage: storage, entities: entities, conversion: rule)
      stages.append(SchemaStage(statements: statements, conversion: step))
      statements = []
    }
    statements.append(schemaStatements.dropColumn(former, of: table.name))
  }

  // MARK: Dropping

  /// Drops link tables and columns. The indexes of the columns must have been dropped.
  private mutating func drop(from old: StoredSchema) {
    statements += drops.linkTables.sorted().map { schemaStatements.dropTable($0) }
    for table in old.tables {
      for column in table.columns where drops.columns.contains(SchemaDrops.Column(root: table.root, key: column.key)) {
        statements.append(schemaStatements.dropColumn(column.name, of: table.name))
      }
    }
  }

  /// Deletes the records of dropped entities.
  private mutating func deleteRecords(from old: StoredSchema) {
    for table in old.tables {
      guard let entities = drops.entities[table.root], !entities.isEmpty else { continue }
      deleteRecords(of: entities, from: table, old)
    }
  }

  /// Deletes the records of entities that share their table with others, and the references to them.
  private mutating func deleteRecords(of entities: [String], from table: StoredSchema.Table, _ old: StoredSchema) {
    let names = old.recordNames(of: entities.sorted()).map(AttributeValue.string)
    let isOfDroppedEntity: SQLFragment = "\(name: SQLTable.entity) \(list: names, as: .string)"
    for other in old.tables {
      for column in other.columns where column.foreignKey?.table == table.name {
        statements.append(
          """
          UPDATE \(name: other.name) SET \(name: column.name) = NULL WHERE \(name: column.name) IN \
          (SELECT \(name: SQLTable.id) FROM \(name: table.name) WHERE \(isOfDroppedEntity))
          """)
      }
    }
    statements.append("DELETE FROM \(name: table.name) WHERE \(isOfDroppedEntity)")
  }

  // MARK: Indexes

  /// Whether an index outlives the migration. Where columns are dropped or replaced, every index is made anew.
  private func isKept(_ index: SQLIndex, of table: StoredSchema.Table) -> Bool {
    // A table that the model leaves out keeps its indexes.
    guard let wanted = new.tables.first(where: { $0.root.name == table.root }) else { return true }
    let isRebuilt = table.columns.contains { stored in
      let key = SchemaDrops.Column(root: table.root, key: stored.key)
      if drops.columns.contains(key) || converted.contains(key) { return true }
      guard let column = wanted.columns.first(where: { $0.key == stored.key }) else { return false }
      return column.foreignKey?.table != stored.foreignKey?.table
    }
    return !isRebuilt && !isFilled(index, of: wanted, table) && wanted.indexes.contains(index)
  }

  /// Whether the migration gives the default to records in a unique index, which is then made again after the check of
  /// the records: the engine would end the migration at the first duplicate, with an error of a save.
  private func isFilled(_ index: SQLIndex, of wanted: SQLTable, _ table: StoredSchema.Table) -> Bool {
    guard index.isUnique, !isKnownModel else { return false }
    return wanted.columns.contains { column in
      index.columns.contains(column.name) && !column.defaultValue.isNull && !StoredSchema.Column(column).isOptional
        && table.column(column.key)?.isOptional == true
    }
  }

  /// Drops the indexes that do not outlive the migration, before any column that they include is dropped.
  private mutating func dropIndexes(of old: StoredSchema) {
    for table in old.tables {
      for index in table.indexes where !isKept(index, of: table) {
        statements.append(schemaStatements.dropIndex(index.name))
      }
    }
  }

  /// Creates the missing indexes of existing and new tables. The unique indexes of existing tables wait for the check
  /// of the records.
  private mutating func createIndexes(missingIn old: StoredSchema) {
    for table in new.tables {
      let storedTable = old.table(ofRoot: table.root.name)
      for index in table.indexes {
        if let storedTable, storedTable.indexes.contains(index), isKept(index, of: storedTable) { continue }
        if storedTable != nil, index.isUnique {
          constraints.append(SchemaConstraint(index, of: table, with: schemaStatements))
        } else {
          statements.append(schemaStatements.create(index, on: table.name))
        }
      }
    }
  }
}
