import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging

/// Administration of a server without a store.
extension Cluster {
  /// A connection for administration, independent of the stores' connections.
  func administration() throws -> PostgreSQLConnection {
    let environment = StoreEnvironment(type: .postgreSQL, url: url, model: Ledger.model)
    return try PostgreSQLConnection.connect(PostgreSQLOptions(environment), logger: Logger(label: "test"))
  }

  /// Makes the next start of the server sync the whole file system instead of each file. The start then takes a
  /// fraction of a second instead of seconds.
  func startFaster() throws {
    let connection = try administration()
    // PostgreSQL 14 on Linux supports the setting. Another server only starts more slowly.
    _ = try? connection.run("ALTER SYSTEM SET recovery_init_sync_method = 'syncfs'", isPrepared: false)
    try connection.run("SELECT pg_catalog.pg_reload_conf()", isPrepared: false)
  }

  /// Promotes a standby, so that it accepts writes.
  func promote() throws {
    try administration().run("SELECT pg_catalog.pg_promote()", isPrepared: false)
  }

  // MARK: Processes

  struct ServerProcess {
    let number: pid_t
    let isOfClient: Bool
  }

  /// The server's processes, without the postmaster and the process of this connection.
  func processes() throws -> [ServerProcess] { try Self.processes(seenBy: administration()) }

  static func processes(seenBy connection: PostgreSQLConnection) throws -> [ServerProcess] {
    let result = try connection.run(
      """
      SELECT CAST(pid AS bigint), CAST(CASE WHEN backend_type = 'client backend' THEN 1 ELSE 0 END AS bigint) \
      FROM pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid() ORDER BY pid
      """, isPrepared: false)
    return (0..<result.rowCount).compactMap { row in
      result.int(row, 0).map { ServerProcess(number: pid_t($0), isOfClient: result.int(row, 1) == 1) }
    }
  }

  // MARK: Numbers of transactions

  /// The identifier of the only open transaction with a write.
  func openTransaction() throws -> Int64 {
    let result = try administration().run(
      """
      SELECT CAST(CAST(backend_xid AS pg_catalog.text) AS bigint) FROM pg_catalog.pg_stat_activity \
      WHERE backend_xid IS NOT NULL
      """, isPrepared: false)
    guard result.rowCount == 1, let number = result.int(0, 0) else {
      throw Failure(description: "\(result.rowCount) transactions have written something.")
    }
    return number
  }

  /// Commits transactions until one of them gets the given identifier.
  ///
  /// - Throws: An error if no transaction gets the identifier, because the server's state survived.
  func handOutAgain(_ number: Int64) throws {
    let connection = try administration()
    while true {
      let result = try connection.run(
        "SELECT CAST(CAST(pg_catalog.pg_current_xact_id() AS pg_catalog.text) AS bigint)", isPrepared: false)
      guard let next = result.int(0, 0) else { throw Failure(description: "A transaction has no number.") }
      if next == number { return }
      guard next < number else { throw Failure(description: "The server has not lost transaction \(number).") }
    }
  }
}
