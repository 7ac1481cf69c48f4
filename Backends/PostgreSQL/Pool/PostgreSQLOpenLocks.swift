import CoherenceCore

/// The open transactions of a pool that keep other writers of records, or all other writers, waiting. A transaction
/// belongs to the thread that works in it. Used under the pool's lock.
struct PostgreSQLOpenLocks {
  /// The open transaction of a thread.
  private struct Transaction {
    let connection: PostgreSQLConnection
    var excludesWriters: Bool
  }

  /// The transactions, by thread.
  private var transactions: [UInt: Transaction] = [:]

  /// The connection of the calling thread's transaction; `nil` for none.
  var own: PostgreSQLConnection? { transactions[callingThread]?.connection }

  /// Whether the calling thread excludes all other writers.
  var excludesWriters: Bool { transactions[callingThread]?.excludesWriters == true }

  /// Adds the transaction of the calling thread, or the exclusion of all other writers to it.
  mutating func begin(with connection: PostgreSQLConnection, excludesWriters: Bool) {
    transactions[callingThread] = Transaction(
      connection: connection, excludesWriters: excludesWriters || self.excludesWriters)
  }

  /// Removes the transaction of the calling thread, and returns its connection.
  mutating func end() -> PostgreSQLConnection? { transactions.removeValue(forKey: callingThread)?.connection }
}
