import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: WriterExcluding {
  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    try excludingWriters(timeout: nil, body)
  }

  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    if pool.isExcludingWriters { return try body() }
    // Other sessions read the tables, and wait to change them.
    let lock = PostgreSQLLock([recordTableLock(mode: "SHARE ROW EXCLUSIVE")], of: "the store's records", timeout)
    return try locking(excludingWriters: true, lock) { _ in try body() }
  }

  var tableOrder: PostgreSQLTableOrder { PostgreSQLTableOrder(of: schema) }

  /// The statement that locks all tables of records, in their order.
  func recordTableLock(mode: SQLFragment) -> SQLFragment { "LOCK TABLE \(names: tableOrder.all) IN \(mode) MODE" }
}
