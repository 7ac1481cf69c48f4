import CoherenceCore
import CoherenceSQL
import Foundation
import Logging

/// A check of a connection that does not respond, made over another connection by the thread that waits for a response.
struct PostgreSQLProbe {
  private let options: PostgreSQLOptions
  private let logger: Logger
  /// The time limit of connecting, and of the check itself.
  private static let timeout = Duration.seconds(3)

  init(_ options: PostgreSQLOptions, logger: Logger) {
    self.options = options
    self.logger = logger
  }

  /// Ends the server process of a stalled connection: a process that waits for its client while the client waits for
  /// it. The network between them is dead, and the process would keep its locks.
  ///
  /// - Parameters:
  ///   - process: The process that serves the connection; `nil` when it is not known.
  ///   - host: The host of the process.
  ///   - hasResponded: Whether a response has arrived in the meantime; checked before the process is ended.
  /// - Returns: Whether the server still works for the connection; `false` also for a server that does not respond. A
  ///   server that responds but refuses the check counts as working.
  func endIfStalled(
    _ process: PostgreSQLProcess?, on host: PostgreSQLHost, unless hasResponded: () -> Bool = { false }
  ) -> Bool {
    guard let process else { return false }
    do {
      let connection = try PostgreSQLConnection.connect(options, to: host, within: Self.timeout, logger: logger)
      connection.isProbe = true
      return try connection.within(Self.timeout) {
        if try !waits(process, connection) { return try exists(process, connection) }
        if !hasResponded() { try end(process, connection) }
        return false
      }
    } catch {
      return error.isRefusalOfServer
    }
  }

  /// Ends the process of a connection whose socket the client has closed, on another thread. Behind a dead network, the
  /// process would not notice the close, and would keep its transaction and its locks.
  func endLater(_ process: PostgreSQLProcess, on host: PostgreSQLHost) {
    Thread.detachNewThread { [self] in
      guard let connection = try? PostgreSQLConnection.connect(options, to: host, within: Self.timeout, logger: logger)
      else { return }
      connection.isProbe = true
      try? connection.within(Self.timeout) { try end(process, connection) }
    }
  }

  private func exists(_ process: PostgreSQLProcess, _ connection: PostgreSQLConnection) throws -> Bool {
    try connection.run("SELECT 1 \(process.activity)", isPrepared: false).rowCount > 0
  }

  /// Whether a process has waited for its client for a while. A process waits right after its response, too.
  private func waits(_ process: PostgreSQLProcess, _ connection: PostgreSQLConnection) throws -> Bool {
    try connection.run(
      """
      SELECT 1 \(process.activity) AND \(PostgreSQLProcess.waitsForClient) \
      AND COALESCE(pg_catalog.clock_timestamp() - state_change > INTERVAL '1 second', TRUE)
      """, isPrepared: false
    ).rowCount > 0
  }

  private func end(_ process: PostgreSQLProcess, _ connection: PostgreSQLConnection) throws {
    try connection.run(process.termination, isPrepared: false)
  }
}

extension Error {
  /// Whether a server responded and refused the connection. A starting server has no earlier process any more.
  fileprivate var isRefusalOfServer: Bool {
    serverFailure?.isStarting == false
  }
}
