import CoherenceCore
import CoherenceSQL

// Transactions with locks.

extension PostgreSQLStore {
  /// Runs a block in a transaction with locks: a new one, which ends with the block, or that of an outer block of this
  /// thread.
  ///
  /// - Parameter body: Receives the results of the statements that lock.
  func locking<T>(
    excludingWriters: Bool, _ lock: PostgreSQLLock, _ body: ([PostgreSQLResult]) throws -> T
  ) throws -> T {
    try checkIsWritable()
    if let connection = pool.ownLocking {
      let results = try lock.acquire(on: connection, in: .open)
      pool.beginLocking(with: connection, excludesWriters: excludingWriters)
      return try body(results)
    }
    let connection = try pool.acquire(for: .saving, within: lock.connectionTimeout)
    let results: [PostgreSQLResult]
    do {
      results = try lock.acquire(on: connection, in: .new)
    } catch {
      connection.rollBack()
      pool.release(connection, from: .saving)
      throw error
    }
    pool.beginLocking(with: connection, excludesWriters: excludingWriters)
    let result = Result { try body(results) }
    let wasLost = !endLocking(on: connection)
    let value = try result.get()
    guard !wasLost else {
      throw CoherenceError(
        .connectionLost,
        "The connection to the PostgreSQL server broke while it locked records, so that the lock ended too early and "
          + "no change was saved under the lock; try again.", isRetryable: true)
    }
    return value
  }

  /// Ends the transaction, unless a save has committed it.
  ///
  /// - Returns: Whether the server has kept the transaction, and with it the locks, until this call.
  private func endLocking(on connection: PostgreSQLConnection) -> Bool {
    guard pool.ownLocking === connection else { return true }
    connection.rollBack()
    let isIntact = !connection.isBroken
    pool.endLocking()
    return isIntact
  }

  /// Saves in the transaction with locks of this thread.
  ///
  /// - Returns: The new rows of the owners whose derived values changed.
  /// - Throws: As ``save(_:)``. The transaction is unchanged then, and stays open, unless its commit has failed.
  func save(_ request: StoreSaveRequest, lockingOn connection: PostgreSQLConnection) throws -> [Row] {
    try endingLocks(on: connection) {
      do {
        return try save(request, on: connection, in: .open)
      } catch let refusal as SaveRefusal {
        throw try explanation(of: refusal, in: request, on: connection)
      }
    }
  }

  /// Runs a block that commits the transaction with locks of this thread. A failed commit ends the transaction; after
  /// any other failure it stays open.
  ///
  /// - Parameter connection: The connection of the transaction.
  func endingLocks<T>(on connection: PostgreSQLConnection, _ body: () throws -> T) throws -> T {
    do {
      let result = try body()
      pool.endLocking()
      return result
    } catch {
      let hasUnknownOutcome = (error as? CoherenceError).map { $0.outcome != .notApplied } ?? false
      // A server that refuses a commit, for a deferred constraint for example, rolls the transaction back.
      if hasUnknownOutcome || !connection.isInTransaction { pool.endLocking() }
      throw error
    }
  }

  /// Runs a block in a writing transaction: in the transaction with locks of this thread, which the block ends, or else
  /// in a new transaction. A new transaction beside the locks would wait for them forever.
  func transaction<T>(
    _ isolation: PostgreSQLTransaction.Isolation = .readCommitted,
    _ body: (inout PostgreSQLTransaction, PostgreSQLConnection) throws -> T
  ) throws -> T {
    guard let connection = pool.ownLocking else {
      return try write { connection in
        try PostgreSQLTransaction.run(on: connection, of: self, isolation) { try body(&$0, connection) }
      }
    }
    try checkIsWritable()
    return try endingLocks(on: connection) {
      try PostgreSQLTransaction.run(on: connection, of: self, isolation, in: .open) { try body(&$0, connection) }
    }
  }
}
