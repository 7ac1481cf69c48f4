import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation
import Logging

extension PostgreSQLConnection {
  /// Opens a connection and prepares its session.
  ///
  /// - Throws: ``ErrorCode/serverUnreachable``, ``ErrorCode/authenticationFailed``, ``ErrorCode/tooManyConnections``,
  ///   ``ErrorCode/storeInaccessible``; ``ErrorCode/invalidOption`` for a malformed connection string;
  ///   ``ErrorCode/unsupported`` for a server that is too old, and for a database without UTF-8; errors of the
  ///   statements that prepare the session.
  /// - Parameters:
  ///   - host: The only host to connect to; `nil` for the hosts of the connection string.
  ///   - timeout: The time limit for all hosts, the look-up of names included; two seconds at least. By default the
  ///     option 'poolTimeout'. Each host gets an equal part, ten seconds at most, or the connection string's
  ///     `connect_timeout`.
  static func connect(
    _ options: PostgreSQLOptions, to host: PostgreSQLHost? = nil, within timeout: Duration? = nil, logger: Logger
  ) throws -> PostgreSQLConnection {
    let timeout = max(timeout ?? .seconds(options.poolTimeout), .seconds(2))
    let start = ContinuousClock.now
    let hostCount = try checkConnectionString(options.connectionString)
    let settings = Self.settings(options, to: host, within: timeout / (host == nil ? hostCount : 1))
    guard let result = PostgreSQLConnectionAttempt.run(within: timeout, { .init(connectingWith: settings) }) else {
      throw CoherenceError(
        .serverUnreachable,
        "No PostgreSQL server can be reached within \(timeout.components.seconds) seconds; check the network, the "
          + "look-up of the host's name, and whether the server runs.", isRetryable: true)
    }
    guard let raw = result.raw else {
      throw CoherenceError(.serverUnreachable, "There is no memory for a connection to the PostgreSQL server.")
    }
    let connection = PostgreSQLConnection(raw, options: options, logger: logger)
    if PQstatus(raw) != CONNECTION_OK { throw connection.refusal(result) }
    try connection.checkServer()
    connection.enterPipeline()
    let remaining = timeout - (ContinuousClock.now - start)
    try connection.within(max(remaining, .seconds(2))) { try connection.prepareSession(options) }
    return connection
  }

  /// libpq's settings. The connection string overrides the settings before it, and the settings after it override the
  /// string.
  private static func settings(
    _ options: PostgreSQLOptions, to host: PostgreSQLHost?, within timeout: Duration
  ) -> [(String, String)] {
    // libpq takes whole seconds, two at least.
    let seconds = max(2, min(timeout.components.seconds, 10))
    var settings = [
      ("connect_timeout", "\(seconds)"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
      ("keepalives_count", "3"), ("fallback_application_name", "coherence"), ("dbname", options.connectionString),
      ("client_encoding", "UTF8"),
    ]
    if let host { settings += host.settings }
    return settings
  }

  // MARK: Connection strings

  /// Refuses connection strings that libpq cannot read, and strings in which libpq would read a part of the password as
  /// another setting, which would appear in messages.
  ///
  /// - Returns: The number of hosts that it names.
  private static func checkConnectionString(_ text: String) throws -> Int {
    var message: UnsafeMutablePointer<CChar>?
    guard let parts = PQconninfoParse(text, &message) else {
      // libpq's message quotes the string, which may contain the password.
      PQfreemem(message)
      throw CoherenceError(
        .invalidOption,
        "The URL of the PostgreSQL database cannot be read; write it postgresql://user@host/database "
          + "and percent-encode the special characters of the user, the password and the database.")
    }
    defer { PQconninfoFree(parts) }
    var hostCount = 1
    var part = parts
    while let keyword = part.pointee.keyword {
      let name = String(cString: keyword)
      let value = part.pointee.val.map { String(cString: $0) } ?? ""
      if isMisread(value, as: name) {
        throw CoherenceError(
          .invalidOption,
          "The \(name) in the URL of the PostgreSQL database cannot be right; percent-encode the special characters of "
            + "the user, the password and the database.")
      }
      if name == "host" || name == "hostaddr" { hostCount = max(hostCount, value.split(separator: ",").count) }
      part += 1
    }
    return hostCount
  }

  /// Whether the value of a setting has a part of the user or of the password in it.
  private static func isMisread(_ value: String, as keyword: String) -> Bool {
    switch keyword {
    case "host", "dbname": value.contains("@")
    case "port": !value.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ",") }
    default: false
    }
  }

  // MARK: Refusals

  /// The error for the failed connection.
  private func refusal(_ result: PostgreSQLConnectionAttempt.ConnectionResult) -> CoherenceError {
    let message = withoutPassword(result.message)
    if PQconnectionNeedsPassword(raw) == 1 {
      return CoherenceError(
        .authenticationFailed,
        "The PostgreSQL server asks for a password; give it in the URL, in PGPASSWORD, or in ~/.pgpass.")
    }
    // The verbose message has the SQLSTATE code after the severity: "FATAL:  28P01: …".
    if let match = result.details?.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) {
      return CoherenceError(PostgreSQLFailure(sqlState: String(match.1), message: message, isFatal: false))
    }
    return CoherenceError(
      .serverUnreachable,
      "No PostgreSQL server can be reached (\(message)); check the URL, and whether the server runs.",
      isRetryable: true)
  }

  /// A message of libpq on one line; a fixed text if the message could contain the password.
  private func withoutPassword(_ text: String) -> String {
    let message = text.split(whereSeparator: \.isNewline).map {
      $0.trimmingCharacters(in: .whitespaces)
    }.joined(separator: " ")
    let password = PQpass(raw).map { String(cString: $0) } ?? ""
    return password.isEmpty || !message.contains(password) ? message : "no details"
  }

  // MARK: Sessions

  /// Refuses a server that is too old, and a database that does not store text in UTF-8.
  private func checkServer() throws {
    guard PQserverVersion(raw) >= 130_000 else {
      throw CoherenceError(.unsupported, "The PostgreSQL server is older than version 13; update it.")
    }
    guard let encoding = PQparameterStatus(raw, "server_encoding"), String(cString: encoding) == "UTF8" else {
      throw CoherenceError(
        .unsupported, "The PostgreSQL database does not keep text in UTF-8; create it with ENCODING 'UTF8'.")
    }
  }

  /// Sets the search path, the durability, the meaning of statements and the time limits of the session. Tables of the
  /// store's schema come before tables of the server and temporary tables. A save is durable even if the server's
  /// default is weaker; a stronger default stays.
  private func prepareSession(_ options: PostgreSQLOptions) throws {
    let path = PostgreSQLDialect().quoted(options.schema) + ", pg_catalog, pg_temp"
    var settings: [SQLFragment] = [
      PostgreSQLProcess.query,
      // Before the literals of the other statements.
      "SELECT pg_catalog.set_config('standard_conforming_strings', 'on', false)",
      "SELECT pg_catalog.set_config('search_path', \(text: path), false)",
      """
      SELECT pg_catalog.set_config('synchronous_commit', 'on', false) \
      WHERE pg_catalog.current_setting('synchronous_commit') = 'off'
      """,
      // Statements outside of transactions mean the same on every server. Where the default forbids writing, these
      // statements may write nevertheless, as the store's transactions may.
      """
      SELECT pg_catalog.set_config('default_transaction_isolation', 'read committed', false), \
      pg_catalog.set_config('default_transaction_read_only', \(text: options.isReadOnly ? "on" : "off"), false)
      """,
    ]
    // The server notices a vanished client within a minute, in place of two hours.
    for (name, seconds) in [("idle", "30"), ("interval", "10"), ("count", "3")] {
      settings.append("SELECT pg_catalog.set_config(\(text: "tcp_keepalives_" + name), \(text: seconds), false)")
    }
    if let timeout = options.statementTimeout {
      let milliseconds = String(Int(timeout * 1000))
      settings.append("SELECT pg_catalog.set_config('statement_timeout', \(text: milliseconds), false)")
    }
    process = PostgreSQLProcess(try run(settings, isPrepared: false)[0])
  }
}
