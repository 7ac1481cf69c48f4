import CoherenceCore
import CoherenceSQL

/// The server process of a connection. Process numbers are reused; together with the start time they are unique.
struct PostgreSQLProcess: Sendable {
  let number: Int64
  /// The start time of the process, in microseconds since 1970.
  let start: Int64

  /// The statement whose result ``init(_:)`` takes.
  static let query: SQLFragment = """
    SELECT CAST(pid AS bigint), \(startTime) FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid())
    """

  // A number, because a text would depend on the time zones of the two compared sessions.
  private static let startTime: SQLFragment = "CAST(EXTRACT(EPOCH FROM backend_start) * 1000000 AS bigint)"

  init(number: Int64, start: Int64) {
    self.number = number
    self.start = start
  }

  init?(_ result: PostgreSQLResult) {
    guard result.rowCount > 0, let number = result.int(0, 0), let start = result.int(0, 1) else { return nil }
    self.init(number: number, start: start)
  }

  /// The row of the process among those of the server, as the source of a statement that ends in a condition. Without a
  /// row the process has ended.
  var activity: SQLFragment {
    """
    FROM pg_catalog.pg_stat_get_activity(CAST(\(key: number) AS integer)) \
    WHERE \(Self.startTime) = \(key: start)
    """
  }

  /// The statement that ends the process if it waits for its client.
  var termination: SQLFragment {
    """
    SELECT CAST(pg_catalog.pg_terminate_backend(pid) AS pg_catalog.text) \(activity) \
    AND \(Self.waitsForClient)
    """
  }

  /// Whether the process waits for its client, which the server shows with every setting of its statistics.
  static let waitsForClient: SQLFragment = "COALESCE(wait_event_type, '') = 'Client'"
}
