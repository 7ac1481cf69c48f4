import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation
import Logging

extension PostgreSQLConnection {
  /// Opens a connection and prepares its session.
  ///
  /// - Throws: ``ErrorCode/serverUnreachable``, ``ErrorCode/authenticationFailed``, ``ErrorCode/tooManyConnections``,
  ///   ``ErrorCode/storeInaccessible``, ``ErrorCode/invalidOption`` for a connection string that cannot be read.
  /// - Parameters:
  ///   - host: The one host to connect to; `nil` for those of the connection string.
  ///   - timeout: How long each host may take to answer. A `connect_timeout` in the connection string wins.
  static func connect(
    _ options: PostgreSQLOptions, to host: PostgreSQLHost? = nil, within timeout: Duration = .seconds(10),
    logger: Logger
  ) throws -> PostgreSQLConnection {
    try checkConnectionString(options.connectionString)
    let beginning = ContinuousClock.now
    guard let raw = start(options, to: host, within: timeout) else {
      throw CoherenceError(.serverUnreachable, "There is no memory for a connection to the PostgreSQL server.")
    }
    let connection = PostgreSQLConnection(raw, options: options, logger: logger)
    if PQstatus(raw) != CONNECTION_OK { try connection.explainRefusal(after: ContinuousClock.now - beginning) }
    try connection.checkServer()
    connection.enterPipeline()
    try connection.within(max(timeout, .seconds(2))) { try connection.prepareSession(options) }
    return connection
  }

  /// What stands before the connection string can be overridden by it; what stands behind cannot.
  private static func start(
    _ options: PostgreSQLOptions, to host: PostgreSQLHost?, within timeout: Duration
  ) -> OpaquePointer? {
    // libpq counts whole seconds, and no less than two.
    let seconds = max(2, min(timeout.components.seconds, 10))
    var settings = [
      ("connect_timeout", "\(seconds)"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
      ("keepalives_count", "3"), ("fallback_application_name", "coherence"), ("dbname", options.connectionString),
      ("client_encoding", "UTF8"),
    ]
    if let host { settings += host.settings }
    let keywords = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for text in keywords + values { free(text) } }
    return PQconnectdbParams(
      keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
  }

  // MARK: Connection strings

  /// Refuses connection strings that libpq cannot read, and those in which a part of the password would be taken for
  /// something else, which would end up in messages.
  private static func checkConnectionString(_ text: String) throws {
    var message: UnsafeMutablePointer<CChar>?
    guard let parts = PQconninfoParse(text, &message) else {
      // The message quotes what it does not understand.
      PQfreemem(message)
      throw CoherenceError(
        .invalidOption,
        "The URL of the PostgreSQL database cannot be read; write it postgresql://user@host/database "
          + "and percent-encode what is special in names and password.")
    }
    defer { PQconninfoFree(parts) }
    var part = parts
    while let keyword = part.pointee.keyword {
      let name = String(cString: keyword)
      if let value = part.pointee.val.map({ String(cString: $0) }), isMisread(value, as: name) {
        throw CoherenceError(
          .invalidOption,
          "The \(name) in the URL of the PostgreSQL database cannot be right; percent-encode what is special in names "
            + "and password.")
      }
      part += 1
    }
  }

  private static func isMisread(_ value: String, as keyword: String) -> Bool {
    switch keyword {
    case "host", "dbname": value.contains("@")
    case "port": !value.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ",") }
    default: false
    }
  }

  // MARK: Refusals

  /// Says why there is no connection.
  ///
  /// libpq tells the code of a refusal only in a message that it was asked to write with all the details before it
  /// connects. So a server that answers at all is asked a second time. Returns when it is in a better mood then.
  private func explainRefusal(after duration: Duration) throws {
    let message = safeMessage
    if PQconnectionNeedsPassword(raw) == 1 {
      throw CoherenceError(
        .authenticationFailed,
        "The PostgreSQL server asks for a password; give it in the URL, in PGPASSWORD, or in ~/.pgpass.")
    }
    if duration < .seconds(2) {
      PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)
      PQreset(raw)
      let details = PQstatus(raw) == CONNECTION_OK ? nil : String(cString: PQerrorMessage(raw))
      PQsetErrorVerbosity(raw, PQERRORS_DEFAULT)
      guard let details else { return }
      if let match = details.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) {
        throw CoherenceError(PostgreSQLFailure(sqlState: String(match.1), message: message, isFatal: false))
      }
    }
    throw CoherenceError(
      .serverUnreachable,
      "No PostgreSQL server can be reached (\(message)); check the URL, and whether the server runs.",
      isRetryable: true)
  }

  /// libpq's message on one line, unless the password could be in it.
  private var safeMessage: String {
    let message = String(cString: PQerrorMessage(raw)).split(whereSeparator: \.isNewline).map {
      $0.trimmingCharacters(in: .whitespaces)
    }.joined(separator: " ")
    let password = PQpass(raw).map { String(cString: $0) } ?? ""
    return password.isEmpty || !message.contains(password) ? message : "no details"
  }

  // MARK: Sessions

  private func checkServer() throws {
    guard PQserverVersion(raw) >= 130_000 else {
      throw CoherenceError(.unsupported, "The PostgreSQL server is older than version 13; update it.")
    }
    guard let encoding = PQparameterStatus(raw, "server_encoding"), String(cString: encoding) == "UTF8" else {
      throw CoherenceError(
        .unsupported, "The PostgreSQL database does not keep text in UTF-8; create it with ENCODING 'UTF8'.")
    }
  }

  /// Tables of the store's schema hide those of the server and temporary ones. A save is durable even where the server's
  /// default is not; stronger defaults are kept.
  private func prepareSession(_ options: PostgreSQLOptions) throws {
    let path = PostgreSQLDialect().quoted(options.schema) + ", pg_catalog, pg_temp"
    var settings: [SQLFragment] = [
      PostgreSQLProcess.query,
      "SELECT pg_catalog.set_config('search_path', \(text: path), false)",
      """
      SELECT pg_catalog.set_config('synchronous_commit', 'on', false) \
      WHERE pg_catalog.current_setting('synchronous_commit') = 'off'
      """,
    ]
    // The server notices a client that is gone within a minute, in place of two hours.
    for (name, seconds) in [("idle", "30"), ("interval", "10"), ("count", "3")] {
      settings.append("SELECT pg_catalog.set_config(\(text: "tcp_keepalives_" + name), \(text: seconds), false)")
    }
    if options.isReadOnly {
      settings.append("SELECT pg_catalog.set_config('default_transaction_read_only', 'on', false)")
    }
    if let timeout = options.statementTimeout {
      let milliseconds = String(Int(timeout * 1000))
      settings.append("SELECT pg_catalog.set_config('statement_timeout', \(text: milliseconds), false)")
    }
    process = PostgreSQLProcess(try run(settings, isKept: false)[0])
  }
}
