package import CoherenceCore

/// The columns of a statement that reads rows: the key, the version, the entity if it can vary, and the properties.
package struct RowLayout: Sendable {
  /// The table of the rows.
  package let table: SQLTable
  /// The entities that the rows can have.
  package let entities: [EntityDescription]
  /// The columns of the properties, in the order of the statement.
  package let columns: [SQLColumn]
  /// Whether the third column of the statement is the name of the row's entity. Otherwise all rows are of the
  /// first entity.
  package let hasEntity: Bool
  /// For each entity, the position in the statement of each slot.
  package let positions: [[Int]]

  init(_ table: SQLTable, entities: [EntityDescription]) {
    self.table = table
    self.entities = entities
    let used = Set(entities.flatMap { table.positions(of: $0) }).sorted()
    columns = used.map { table.columns[$0] }
    let isShared = table.isShared
    let first = isShared ? 3 : 2
    let positionsInStatement = Dictionary(
      uniqueKeysWithValues: used.enumerated().map { ($0.element, $0.offset + first) })
    positions = entities.map { entity in table.positions(of: entity).map { positionsInStatement[$0]! } }
    hasEntity = isShared
  }

  /// The columns for the SELECT clause.
  func selection(alias: String) -> SQLFragment {
    let head = [SQLTable.id, SQLTable.version] + (hasEntity ? [SQLTable.entity] : [])
    return (head + columns.map(\.name)).map { .column($0, of: alias) }.joined(separator: ", ")
  }
}
