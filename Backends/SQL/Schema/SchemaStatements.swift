import CoherenceCore

/// The statements that make, change and remove tables, columns and indexes.
struct SchemaStatements {
  let dialect: any SQLDialect

  // MARK: Tables

  /// The tables for metadata and keys.
  var bookkeeping: [SQLFragment] {
    let text = type(.string)
    return [
      """
      CREATE TABLE \(name: SQLSchema.metadataTable) \
      (\(name: "key") \(text) NOT NULL PRIMARY KEY, \(name: "value") \(text) NOT NULL)
      """,
      """
      CREATE TABLE \(name: SQLSchema.keyTable) \
      (\(name: "entity") \(text) NOT NULL PRIMARY KEY, \(name: "next") \(type(.int64)) NOT NULL)
      """,
    ]
  }

  func create(_ table: SQLTable) -> SQLFragment {
    var columns: [SQLFragment] = [
      "\(name: SQLTable.id) \(type(.int64)) NOT NULL PRIMARY KEY",
      "\(name: SQLTable.version) \(type(.int64)) NOT NULL",
      "\(name: SQLTable.entity) \(type(.string)) NOT NULL",
    ]
    columns += table.columns.map { column($0, in: table) }
    return "CREATE TABLE \(name: table.name) (\n  \(columns.joined(separator: ",\n  "))\n)"
  }

  /// Makes the table of links. The engine deletes a link with either of its ends.
  func create(_ table: SQLLinkTable) -> SQLFragment {
    let key = type(.int64)
    let suffix = SQLFragment(.text(dialect.linkTableSuffix))
    return """
      CREATE TABLE \(name: table.name) (
        \(name: SQLLinkTable.source) \(key) NOT NULL \(end(in: table.sourceTable)),
        \(name: SQLLinkTable.target) \(key) NOT NULL \(end(in: table.targetTable)),
        \(name: SQLLinkTable.sourcePosition) \(key),
        \(name: SQLLinkTable.targetPosition) \(key),
        PRIMARY KEY (\(name: SQLLinkTable.source), \(name: SQLLinkTable.target))
      )\(suffix)
      """
  }

  /// The reference of a link's end to the records of a table.
  private func end(in table: String) -> SQLFragment {
    "REFERENCES \(name: table) (\(name: SQLTable.id)) ON DELETE CASCADE"
  }

  func createTargetIndex(_ table: SQLLinkTable) -> SQLFragment {
    let columns = [SQLLinkTable.target, SQLLinkTable.source]
    return "CREATE INDEX \(name: table.targetIndex) ON \(name: table.name) (\(names: columns))"
  }

  func dropTable(_ name: String) -> SQLFragment { "DROP TABLE \(name: name)" }

  // MARK: Columns

  private func type(_ storage: StorageType) -> SQLFragment { SQLFragment(.text(dialect.columnType(storage))) }

  private func column(_ column: SQLColumn, in table: SQLTable) -> SQLFragment {
    var definition: SQLFragment = "\(name: column.name) \(type(column.storage))"
    if let clause = defaultClause(of: column, in: table) { definition += " \(clause)" }
    guard let key = column.foreignKey, !dialect.altersConstraints else { return definition }
    return definition + " REFERENCES \(name: key.table) (\(name: SQLTable.id))"
  }

  /// The default that the engine writes into a column for a program whose model lacks the column. In a subentity's
  /// column, rows of other entities have the default too, which no query and no count reads.
  func defaultClause(of column: SQLColumn, in table: SQLTable) -> SQLFragment? {
    guard table.allowsEngineDefault(of: column) else { return nil }
    return dialect.constant(column.defaultValue, as: column.storage).map { "DEFAULT \($0)" }
  }

  func add(_ column: SQLColumn, to table: SQLTable) -> SQLFragment {
    "ALTER TABLE \(name: table.name) ADD COLUMN \(self.column(column, in: table))"
  }

  func rename(_ column: String, to name: String, of table: String) -> SQLFragment {
    "ALTER TABLE \(name: table) RENAME COLUMN \(name: column) TO \(name: name)"
  }

  func dropColumn(_ column: String, of table: String) -> SQLFragment {
    "ALTER TABLE \(name: table) DROP COLUMN \(name: column)"
  }

  // MARK: References

  /// The constraint of a column, for dialects that add it to an existing table.
  func addConstraint(_ column: SQLColumn, to table: String) -> SQLFragment? {
    guard let key = column.foreignKey, dialect.altersConstraints else { return nil }
    return """
      ALTER TABLE \(name: table) ADD CONSTRAINT \(name: key.name) FOREIGN KEY (\(name: column.name)) \
      REFERENCES \(name: key.table) (\(name: SQLTable.id))
      """
  }

  /// Makes the engine check a column's references, or stop checking them. References to missing records are cleared
  /// before. The column's indexes must have been dropped.
  func changeReference(_ column: SQLColumn, from old: SQLForeignKey?, of table: SQLTable) -> [SQLFragment] {
    let clearing = column.foreignKey.map { [clearDangling(column.name, of: table.name, target: $0.table)] } ?? []
    if dialect.altersConstraints {
      let drop = old.map { ["ALTER TABLE \(name: table.name) DROP CONSTRAINT \(name: $0.name)"] as [SQLFragment] } ?? []
      return drop + clearing + [addConstraint(column, to: table.name)].compactMap { $0 }
    }
    // The constraint is part of the column, so a new column replaces the old one.
    let former = "$former"
    return clearing + [
      rename(column.name, to: former, of: table.name),
      add(column, to: table),
      "UPDATE \(name: table.name) SET \(name: column.name) = \(name: former)",
      dropColumn(former, of: table.name),
    ]
  }

  /// Clears the references of a column to missing records.
  private func clearDangling(_ column: String, of table: String, target: String) -> SQLFragment {
    // In the subquery, the name of the table must not be that of the alias, which hides the table.
    let alias = dialect.identity(ofName: table) == "t" ? "t_1" : "t"
    return """
      UPDATE \(name: table) SET \(name: column) = NULL WHERE \(name: column) IS NOT NULL AND NOT EXISTS \
      (SELECT 1 FROM \(name: target) AS \(name: alias) \
      WHERE \(name: alias).\(name: SQLTable.id) = \(name: table).\(name: column))
      """
  }

  // MARK: Indexes

  func create(_ index: SQLIndex, on table: String) -> SQLFragment {
    let kind: SQLFragment = index.isUnique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
    let columns = index.columns.map { column -> SQLFragment in
      // A key is never missing, and statements order by it without the suffix for missing values.
      column == SQLTable.id ? "\(name: column)" : "\(name: column)\(dialect.indexColumnSuffix)"
    }.joined(separator: ", ")
    let statement: SQLFragment = "\(kind) \(name: index.name) ON \(name: table) (\(columns))"
    guard let entities = index.entities else { return statement }
    return statement + " WHERE \(entityCondition(entities))"
  }

  func dropIndex(_ name: String) -> SQLFragment { "DROP INDEX \(name: name)" }

  /// A condition on the entity as constant text, which definitions ask for.
  private func entityCondition(_ entities: [String]) -> SQLFragment {
    let list = entities.map { dialect.literal($0) }.joined(separator: ", ")
    return "\(name: SQLTable.entity) IN (\(list))"
  }
}
