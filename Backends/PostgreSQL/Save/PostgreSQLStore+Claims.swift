import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: RecordClaiming {
  func claim(_ query: StoreQuery, setting values: [Int: AttributeValue]) throws -> [Row]? {
    let plan = try planner.select(query)
    guard plan.isExact else { return nil }
    let claim = PostgreSQLClaim(
      entity: query.entity, values: values, decoder: PostgreSQLRowDecoder(plan.layout, spaces: spaces),
      statements: BatchStatements(schema: schema),
      lock: try tableOrder.lockStatement(forClaimsOf: query.entity),
      selection: (plan.statement + " FOR UPDATE OF \(name: "t") SKIP LOCKED").rendered(by: PostgreSQLDialect()))
    do {
      return try transaction { transaction, connection in try claim.run(in: &transaction, on: connection) }
    } catch is PostgreSQLClaim.NothingFound {
      return []
    }
  }
}

/// The transaction of a claim.
private struct PostgreSQLClaim {
  let entity: EntityDescription
  let values: [Int: AttributeValue]
  let decoder: PostgreSQLRowDecoder
  let statements: BatchStatements
  /// Locks the table before the records.
  let lock: SQLFragment
  /// Selects and locks the first free records.
  let selection: SQLStatement

  /// Thrown for a claim without records. The transaction rolls back, so that the claim writes nothing to the
  /// write-ahead log.
  struct NothingFound: Error {}

  /// Locks the first records without a lock, and changes them.
  ///
  /// The transaction reads committed rows: a record that another claim has just released is tested in its present
  /// state.
  func run(in transaction: inout PostgreSQLTransaction, on connection: PostgreSQLConnection) throws -> [Row] {
    let rows = try connection.timed([selection.text]) {
      try decoder.rows(try transaction.begin(with: selection, locking: lock))
    }
    guard !rows.isEmpty else { throw NothingFound() }
    try connection.run(statements.update(entity, of: rows.map(\.key), values: values))
    return rows.map { $0.revised(setting: values) }
  }
}
