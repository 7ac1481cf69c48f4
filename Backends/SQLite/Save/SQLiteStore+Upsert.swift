import CoherenceCore
import CoherenceSQL

extension SQLiteStore: BatchUpserting {
  func upsert(
    _ rows: [Row], of entity: EntityDescription, constraint: [Int], compared: SlotSet, written: SlotSet
  ) throws -> BatchUpsertOutcome? {
    guard
      let statements = try UpsertStatements(
        schema, SQLiteDialect(), entity, constraint: constraint, compared: compared, written: written)
    else { return nil }
    let parameters = statements.columns.map(\.parameter)
    // Several statements with few values each: to prepare a statement, SQLite compares each value with all values
    // before it.
    let size = max(1, min(32, 1_000 / parameters.count))
    return try write { session in
      do {
        var keys: [Int64] = []
        try session.inWriteTransaction {
          for start in stride(from: 0, to: rows.count, by: size) {
            let values = rows[start..<min(start + size, rows.count)].map { row -> SQLFragment in
              let values = parameters.map { parameter -> SQLFragment in
                let (value, storage) = statements.value(of: parameter, in: row)
                return "\(value: value, as: storage)"
              }
              return "(\(values.joined(separator: ", ")))"
            }
            keys += try session.integers(statements.statement("VALUES \(values.joined(separator: ", "))"))
          }
        }
        return BatchUpsertOutcome(of: rows, returning: keys, in: spaces[entity])
      } catch let failure as SQLiteFailure where failure.isConstraint {
        // Nothing was changed. Core saves the rows in another way, whose error names the row and the constraint.
        return nil
      }
    }
  }
}
