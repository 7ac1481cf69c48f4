import CoherenceCore
import CoherenceSQL

extension SQLiteStore: RecordClaiming {
  func claim(_ query: StoreQuery, setting values: [Int: AttributeValue]) throws -> [Row]? {
    let plan = try planner.select(query)
    guard plan.isExact else { return nil }
    let decoder = SQLiteRowDecoder(plan.layout, spaces: spaces)
    let statements = BatchStatements(schema: schema)
    return try write { session in
      // No other connection can commit between the reading and the writing.
      try session.inWriteTransaction {
        let rows = try session.with(plan.statement) { statement in
          var rows: [Row] = []
          while try statement.step() { rows.append(try decoder.row(statement.handle)) }
          return rows
        }
        for keys in rows.map(\.key).chunks {
          try session.run(statements.update(query.entity, of: keys, values: values))
        }
        return rows.map { $0.revised(setting: values) }
      }
    }
  }
}
