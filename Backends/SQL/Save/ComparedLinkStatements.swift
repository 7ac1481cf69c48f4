package import CoherenceCore

/// The statements that find links of deleted records which the save does not remove, see
/// ``StoreSaveRequest/comparedLinks``. Run after the links are removed, and before the records are deleted.
package struct ComparedLinkStatements: Sendable {
  private let schema: SQLSchema

  package init(schema: SQLSchema) { self.schema = schema }

  /// Keeps other transactions from adding links of records, and waits for those that have added one. For an engine with
  /// several writers.
  package func lock(_ keys: [Int64], of entity: EntityDescription) throws -> SQLFragment {
    let key = SQLFragment.name(SQLTable.id)
    return """
      SELECT 1 FROM \(name: try schema.requireTable(for: entity).name) WHERE \(key) \(keys: keys) \
      ORDER BY \(key) FOR UPDATE
      """
  }

  /// Selects the keys of the records with links at a side of a table.
  package func linked(_ keys: [Int64], at side: LinkSide) throws -> SQLFragment {
    let table = try schema.requireLinkTable(side.table)
    let key = SQLFragment.name(side.isSource ? table.source : table.target)
    return "SELECT DISTINCT \(key) FROM \(name: table.name) WHERE \(key) \(keys: keys)"
  }
}
