import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: RowLocking {
  func lockingRows<T>(_ ids: [ManagedObjectID], timeout: Duration?, _ body: ([Row]) throws -> T) throws -> T {
    let plans = try plans(toLock: ids)
    let names = Set(ids.lazy.map { "'\($0.entity.name)'" }).sorted().joined(separator: ", ")
    let rowLocks =
      pool.saveLocking.isRequired
      ? try PostgreSQLRowLocks(ofRecords: ids, in: environment, schema).statements() : []
    // The tables first, as a save locks them: a thread that excludes writers is waited for before any record is locked,
    // so that it and this thread never wait for each other.
    let lock = PostgreSQLLock(
      [recordTableLock(mode: "ROW EXCLUSIVE")] + rowLocks + plans.map(\.statement),
      of: "\(ids.count) record(s) of \(names)",
      timeout)
    return try locking(excludingWriters: false, lock) { results in
      try body(
        try zip(plans, results.suffix(plans.count)).flatMap { plan, result in
          try PostgreSQLRowDecoder(plan.layout, spaces: spaces).rows(result)
        })
    }
  }

  /// The statements that lock and read records, in the order of ``PostgreSQLTableOrder/rowLocks(of:)``.
  private func plans(toLock ids: [ManagedObjectID]) throws -> [(statement: SQLFragment, layout: RowLayout)] {
    let keys = Dictionary(grouping: ids) { $0.entity.root }.mapValues { $0.map(\.key) }
    let lock: SQLFragment = " ORDER BY \(.column(SQLTable.id, of: "t")) FOR UPDATE OF \(name: "t")"
    return try tableOrder.rowLocks(of: keys).map { table, keys in
      let plan = try planner.rows(keys, of: table.root)
      return (plan.statement + lock, plan.layout)
    }
  }
}
