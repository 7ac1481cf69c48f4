import CoherenceSQL
import Synchronization

/// The sessions of a store that have written into the table of commits. May be used from any thread.
///
/// The first commit of a session adds a row, which outlives the session. The opening of a store removes the expired rows.
/// But a store may stay open for months, while new sessions replace broken connections, and exceed the size of the pool
/// for a while. So every hundredth of its sessions removes the expired rows too.
final class PostgreSQLCommitSessions: Sendable {
  /// The number of sessions from one removal of expired rows to the next.
  static let interval = 100

  private let count = Atomic<Int>(0)

  /// Counts a session that has committed for the first time.
  ///
  /// - Returns: Whether the session has to remove the expired rows.
  func add() -> Bool { count.wrappingAdd(1, ordering: .relaxed).newValue.isMultiple(of: Self.interval) }
}

extension PostgreSQLConnection {
  /// Removes the expired rows of the table of commits. Called outside of a transaction, by the opening of a store and by
  /// its sessions. The rows stay if the user has no right to delete them, or if another program locks the table for more
  /// than a second.
  func removeExpiredCommits(in schema: String) {
    // No time limit covers this commit, which therefore waits for no standby. A later removal repeats a removal that a
    // crash loses.
    let settings: SQLFragment = """
      SELECT pg_catalog.set_config('lock_timeout', '1000', true), \
      pg_catalog.set_config('synchronous_commit', 'off', true)
      """
    uninterrupted {
      _ = try? run([settings, PostgreSQLCommitMark.removal(in: schema)], isPrepared: false)
    }
  }
}
