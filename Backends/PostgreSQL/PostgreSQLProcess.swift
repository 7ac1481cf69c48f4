import CoherenceCore
import CoherenceSQL
import Logging

/// The process of the server that serves a connection. Numbers of processes come again; with the time of the start they
/// are one of a kind, on whatever host.
struct PostgreSQLProcess: Sendable {
  let number: Int64
  let start: String

  /// The statement whose result ``init(_:)`` takes.
  static let query: SQLFragment = """
    SELECT CAST(pid AS bigint), CAST(backend_start AS pg_catalog.text) \
    FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid())
    """

  init(number: Int64, start: String) {
    self.number = number
    self.start = start
  }

  init?(_ result: PostgreSQLResult) {
    guard result.rowCount > 0, let number = result.int(0, 0), let start = result.text(0, 1) else { return nil }
    self.number = number
    self.start = start
  }

  /// The row of the process among those that are at work, of a number that another process may have by now.
  var activity: SQLFragment {
    """
    FROM pg_catalog.pg_stat_get_activity(CAST(\(key: number) AS integer)) \
    WHERE CAST(backend_start AS pg_catalog.text) = \(text: start)
    """
  }
}

/// A question about a connection from which nothing comes, asked over another one.
struct PostgreSQLProbe {
  private let options: PostgreSQLOptions
  private let logger: Logger
  /// How long connecting and answering may take each.
  private static let patience = Duration.seconds(3)

  init(_ options: PostgreSQLOptions, logger: Logger) {
    self.options = options
    self.logger = logger
  }

  /// Whether the server works for a connection. A process that waits for its client, while the client waits for it, is
  /// ended: nothing comes through the link, and the locks of the process would stay.
  ///
  /// - Returns: `false` when the server cannot be asked, too.
  func isWorking(_ process: PostgreSQLProcess?) -> Bool {
    guard let process,
      let connection = try? PostgreSQLConnection.connect(options, within: Self.patience, logger: logger)
    else { return false }
    let isAtWork: SQLFragment = "state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'"
    let answer = try? connection.within(Self.patience) {
      try connection.run(
        """
        SELECT CAST(CASE WHEN \(isAtWork) THEN 1 WHEN pg_catalog.pg_terminate_backend(pid) THEN 0 ELSE 0 END AS bigint) \
        \(process.activity)
        """, isKept: false)
    }
    guard let answer, answer.rowCount > 0 else { return false }
    return answer.int(0, 0) == 1
  }
}
