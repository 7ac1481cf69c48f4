package import CoherenceCore

/// Builds statements that insert rows, or update the stored rows with equal unique values.
package struct UpsertStatements: Sendable {
  private let dialect: any SQLDialect
  private let table: SQLTable
  private let entity: EntityDescription
  /// The name of the entity in the rows.
  private let recordName: String
  /// The columns of the unique index, by which the engine finds the row to update.
  private let target: [String]
  /// The slots of which one must differ, so that a stored row is changed; empty to change no stored row.
  private let compared: SlotSet
  /// The slots that a changed row takes from the given row.
  private let written: SlotSet

  /// The name of the given row in the action for a row with the unique values of a stored row.
  private static let given = "excluded"

  /// Returns `nil` if the engine cannot find the rows to update: other entities share the table, no unique index has
  /// exactly the columns of the constraint, or the table has the name of the given row, which it hides.
  ///
  /// - Parameters:
  ///   - constraint: The slots of the constraint.
  ///   - compared: The slots that decide whether a stored row is changed; empty to change no stored row.
  ///   - written: The slots that a changed row takes.
  package init?(
    _ schema: SQLSchema, _ dialect: any SQLDialect, _ entity: EntityDescription, constraint: [Int], compared: SlotSet,
    written: SlotSet
  ) throws {
    let table = try schema.requireTable(for: entity)
    let names = constraint.map { table.column($0, of: entity).name }
    guard !table.isShared, dialect.identity(ofName: table.name) != Self.given,
      let index = table.indexes.first(where: { $0.isUnique && $0.entities == nil && Set($0.columns) == Set(names) })
    else { return nil }
    self.dialect = dialect
    self.table = table
    self.entity = entity
    recordName = table.recordName(of: entity)
    self.compared = compared
    self.written = written
    target = index.columns
  }

  /// The columns of a row, with the sources of their values.
  package var columns: [(name: String, parameter: SaveParameter)] {
    let columns = table.positions(of: entity).map { table.columns[$0] }
    return [(SQLTable.id, .id), (SQLTable.version, .version), (SQLTable.entity, .entity)]
      + columns.enumerated().map { ($1.name, .slot($0, $1.storage)) }
  }

  /// The value of a parameter of ``columns`` in a row to insert, and its representation.
  package func value(of parameter: SaveParameter, in row: Row) -> (AttributeValue, StorageType) {
    switch parameter {
    case .slot(let slot, let storage): (row[slot], storage)
    case .version: (.int(row.version), .int64)
    case .entity: (.string(recordName), .string)
    case .id: (.int(row.key), .int64)
    case .baseVersion, .source, .target, .sourcePosition, .targetPosition:
      preconditionFailure("A row to insert has no base version and no end of a link.")
    }
  }

  /// The statement, which returns the keys of the inserted and of the changed rows.
  ///
  /// - Parameter rows: The rows to insert: a list of values, or a query.
  package func statement(_ rows: SQLFragment) -> SQLFragment {
    let insert: SQLFragment = "INSERT INTO \(name: table.name) (\(names: columns.map(\.name))) \(rows)"
    return "\(insert) ON CONFLICT (\(names: target)) DO \(action) RETURNING \(name: SQLTable.id)"
  }

  /// The action for a row with the unique values of a stored row.
  private var action: SQLFragment {
    guard !compared.isEmpty else { return "NOTHING" }
    func pair(_ slot: Int) -> (stored: SQLFragment, given: SQLFragment, name: String) {
      let name = table.column(slot, of: entity).name
      return (.column(name, of: table.name), .column(name, of: Self.given), name)
    }
    var set = written.map { slot -> SQLFragment in "\(name: pair(slot).name) = \(pair(slot).given)" }
    set.append("\(name: SQLTable.version) = \(.column(SQLTable.version, of: table.name)) + 1")
    let isDifferent = compared.map { slot -> SQLFragment in
      "\(pair(slot).stored) \(dialect.nullSafeDifferent) \(pair(slot).given)"
    }
    return "UPDATE SET \(set.joined(separator: ", ")) WHERE \(isDifferent.joinedInGroups(by: " OR "))"
  }
}

extension BatchUpsertOutcome {
  /// Makes an outcome from the rows and the keys that the statement returned.
  package init(of rows: [Row], returning keys: [Int64], in space: IDSpace) {
    let given = Set(rows.map(\.key))
    self.init(
      inserted: Set(keys.filter(given.contains)),
      updated: keys.filter { !given.contains($0) }.sorted().map { ManagedObjectID(space: space, key: $0) })
  }
}
