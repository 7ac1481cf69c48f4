import CoherenceCore

/// The open transactions of a pool that keep other writers of records, or all other writers, waiting. Each belongs to
/// the thread that works in it.
struct PostgreSQLOpenLocks {
  /// The open transaction of a thread.
  private struct Locking {
    let connection: PostgreSQLConnection
    var excludesWriters: Bool
  }

  /// The transactions, by thread.
  private var lockings: [UInt: Locking] = [:]

  /// The connection of the calling thread's transaction; `nil` for none.
  var own: PostgreSQLConnection? { lockings[callingThread]?.connection }

  /// Whether the calling thread excludes all other writers.
  var excludesWriters: Bool { lockings[callingThread]?.excludesWriters == true }

  /// Adds the transaction of the calling thread, or the exclusion of all other writers to it.
  mutating func begin(with connection: PostgreSQLConnection, excludesWriters: Bool) {
    lockings[callingThread] = Locking(
      connection: connection, excludesWriters: excludesWriters || self.excludesWriters)
  }

  /// Removes the transaction of the calling thread, and returns its connection.
  mutating func end() -> PostgreSQLConnection? { lockings.removeValue(forKey: callingThread)?.connection }
}
