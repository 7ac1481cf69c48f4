import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: WriterExcluding {
  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    if pool.ownExclusion != nil { return try body() }
    try beginExclusion()
    defer { endExclusion() }
    return try body()
  }

  /// Begins a transaction with a lock on the tables of the records: other sessions read them, and wait to change them.
  private func beginExclusion() throws {
    try checkIsWritable()
    let connection = try pool.acquire(for: .saving)
    do {
      try PostgreSQLTransaction.lock(on: connection, recordTables)
    } catch {
      connection.rollBack()
      pool.release(connection, from: .saving)
      throw error
    }
    pool.beginExclusion(with: connection)
  }

  private var recordTables: SQLFragment {
    "LOCK TABLE \(names: schema.tables.map(\.name) + schema.linkTables.map(\.name)) IN SHARE ROW EXCLUSIVE MODE"
  }

  /// Ends the transaction, unless a save has committed it.
  private func endExclusion() {
    pool.ownExclusion?.rollBack()
    pool.endExclusion()
  }

  /// Saves in the transaction that keeps other writers out.
  ///
  /// - Returns: The new rows of the owners whose derived values changed.
  /// - Throws: As ``save(_:)``. The transaction is as before then, and stays open.
  func save(_ request: StoreSaveRequest, excludingWritersOn connection: PostgreSQLConnection) throws -> [Row] {
    let derived: [Row]
    do {
      derived = try save(request, on: connection, in: .open)
    } catch let refusal as SaveRefusal {
      throw try explanation(of: refusal, in: request, on: connection)
    }
    pool.endExclusion()
    return derived
  }

  /// Runs a block in a writing transaction: in that of this thread's exclusion of other writers, which ends with it, or
  /// else in one of its own. Another transaction would wait for the exclusion's lock without an end.
  func transaction<T>(
    _ isolation: PostgreSQLTransaction.Isolation = .readCommitted,
    _ body: (inout PostgreSQLTransaction, PostgreSQLConnection) throws -> T
  ) throws -> T {
    guard let connection = pool.ownExclusion else {
      return try write { connection in
        try PostgreSQLTransaction.run(on: connection, of: pool, isolation) { try body(&$0, connection) }
      }
    }
    try checkIsWritable()
    let result = try PostgreSQLTransaction.run(on: connection, of: pool, isolation, in: .open) {
      try body(&$0, connection)
    }
    pool.endExclusion()
    return result
  }
}
