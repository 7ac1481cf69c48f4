import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: RowLocking {
  func lockingRows<T>(_ ids: [ManagedObjectID], timeout: Duration?, _ body: ([Row]) throws -> T) throws -> T {
    let plans = try plans(toLock: ids)
    let names = Set(ids.lazy.map { "'\($0.entity.name)'" }).sorted().joined(separator: ", ")
    // The tables first, as a save locks them: a thread that excludes writers is waited for before any record is locked,
    // so that it and this thread never wait for each other.
    let lock = PostgreSQLLock(
      [recordTables(mode: "ROW EXCLUSIVE")] + plans.map(\.statement), of: "\(ids.count) record(s) of \(names)", timeout)
    return try locking(excludingWriters: false, lock) { results in
      try body(
        try zip(plans, results.dropFirst()).flatMap { plan, result in
          try PostgreSQLRowDecoder(plan.layout, spaces: spaces).rows(result)
        })
    }
  }

  /// The statements that lock and read records: one for each table, in the order of the tables' names. A statement
  /// locks in ascending order of keys, so that two callers never wait for each other.
  private func plans(toLock ids: [ManagedObjectID]) throws -> [(statement: SQLFragment, layout: RowLayout)] {
    try Dictionary(grouping: ids) { $0.entity.root }
      .map { root, ids in (try schema.requireTable(for: root).name, root, ids.map(\.key).sorted()) }
      .sorted { $0.0 < $1.0 }
      .map { _, root, keys in
        let plan = try planner.rows(keys, of: root)
        let lock: SQLFragment = " ORDER BY \(.column(SQLTable.id, of: "t")) FOR UPDATE OF \(name: "t")"
        return (plan.statement + lock, plan.layout)
      }
  }
}
