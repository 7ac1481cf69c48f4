import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: BatchUpserting {
  func upsert(
    _ rows: [Row], of entity: EntityDescription, constraint: [Int], compared: SlotSet, written: SlotSet
  ) throws -> BatchUpsertOutcome? {
    guard
      let statements = try UpsertStatements(
        schema, PostgreSQLDialect(), entity, constraint: constraint, compared: compared, written: written)
    else { return nil }
    let statement = PostgreSQLBulkStatement.upsert(statements)
    // One order for all writers, so that they wait for each other in turn.
    let ordered = rows.sorted { left, right in
      for slot in constraint {
        let order = left[slot].order(to: right[slot])
        if order != 0 { return order < 0 }
      }
      return left.key < right.key
    }
    do {
      let keys = try transaction { transaction, connection in
        try connection.timed(["\(statement.text.text) -- \(rows.count) rows"]) {
          try run(statement, of: statements, ordered, on: connection, in: &transaction)
        }
      }
      pool.growth.add(rows.count)
      return BatchUpsertOutcome(of: rows, returning: keys, in: spaces[entity])
    } catch let error as CoherenceError {
      // Core finds the row and the constraint.
      guard error.serverFailure?.isConstraintViolation == true else { throw error }
      return nil
    }
  }

  /// Runs a bulk statement for all rows.
  ///
  /// - Returns: The keys that the statement returns.
  private func run(
    _ statement: PostgreSQLBulkStatement, of statements: UpsertStatements, _ rows: [Row],
    on connection: PostgreSQLConnection, in transaction: inout PostgreSQLTransaction
  ) throws -> [Int64] {
    try connection.recovering {
      var keys: [Int64] = []
      try transaction.sendBeginning()
      for range in statement.ranges(of: rows.count, { statements.value(of: $1, in: rows[$0]).0 }) {
        let part = rows[range]
        try connection.send(statement.text) { fields in
          for parameter in statement.parameters {
            try fields.append(array: part.map { statements.value(of: parameter, in: $0).0 }, as: parameter.storage)
          }
        }
        // Each response is received before the next rows are sent, so that the server never waits to send keys while
        // the client waits to send rows.
        try connection.synchronize()
        if range.lowerBound == 0 { try transaction.receiveBeginning() }
        keys += try connection.receiveLast().integers
      }
      return keys
    }
  }
}
