import CoherenceCore
import Foundation

/// The names of the options of PostgreSQL stores, in addition to ``StoreOption``.
///
/// The password is read by libpq: from the URL, from the environment variable `PGPASSWORD`, or from `~/.pgpass`.
public enum PostgreSQLOption {
  /// The schema of the store's tables, created if it is missing. A `string`, `public` by default. Several stores can
  /// share a database when each has a schema of its own.
  public static let schema = "schema"
  /// The most connections that the store has open at once, one of which is kept for saves. An `int` from 2 on, 8 by
  /// default.
  ///
  /// A caller that finds all of them in use is given the connection of an idle unit of reading; that unit continues in
  /// a later state of the store. Snapshots inside one another on one thread have connections beyond this number.
  public static let poolSize = "poolSize"
  /// How many seconds to wait for a connection before ``ErrorCode/tooManyConnections``, for a new connection, the look-up of
  /// the host's name included, before ``ErrorCode/serverUnreachable``, and for a server that went away while it committed to
  /// prove whether it did. An `int` or `double`, 30 by default. A new connection is given two seconds at least.
  public static let poolTimeout = "poolTimeout"
  /// How many seconds the server may work on one statement before ``ErrorCode/storeBusy``. An `int` or `double`; without
  /// it, the server's own setting counts. For a commit, which the server does not limit, the time is kept here: the save then
  /// fails with ``ErrorCode/connectionLost``, and whether it was applied is found out as when the server went away.
  ///
  /// A link from which nothing comes for a second longer, or for 15 seconds without this option, is looked at over a
  /// connection of its own: where the server is not at work on the statement, or cannot be reached within a few
  /// seconds, the link is closed with ``ErrorCode/connectionLost``. So no call waits for a dead link.
  public static let statementTimeout = "statementTimeout"
  /// The connection string, `host=… dbname=…` or `postgresql://…`, in place of the store's URL: for several hosts that
  /// a URL cannot hold. A `string`.
  public static let connectionString = "connectionString"
}

/// The options of a store, checked.
struct PostgreSQLOptions: Sendable {
  var schema = "public"
  var poolSize = 8
  var poolTimeout: TimeInterval = 30
  var statementTimeout: TimeInterval?
  var isReadOnly: Bool
  /// The connection string. A secret, because it may contain the password.
  let connectionString: String

  init(_ environment: StoreEnvironment) throws {
    isReadOnly = environment.isReadOnly
    connectionString = try Self.connectionString(environment)
    schema =
      try environment.text(
        PostgreSQLOption.schema,
        "a name of 1 to 63 bytes that is not the server's own, as `$user`, `information_schema` and names with `pg_` are",
        where: Self.isFree) ?? schema
    poolSize = try environment.number(PostgreSQLOption.poolSize, in: 2...1000) ?? poolSize
    poolTimeout = try environment.seconds(PostgreSQLOption.poolTimeout) ?? poolTimeout
    statementTimeout = try environment.seconds(PostgreSQLOption.statementTimeout)
  }

  /// Whether a schema can be made under the name. `$user` means something else in a search path, quoted too.
  private static func isFree(_ name: String) -> Bool {
    (1...63).contains(name.utf8.count) && !name.utf8.contains(0) && name != "$user" && name != "information_schema"
      && !name.hasPrefix("pg_")
  }

  /// How long the server may send nothing before it is asked whether it is at work.
  var silenceTimeout: Duration {
    if let statementTimeout, statementTimeout > 0 { .seconds(statementTimeout + 1) } else { .seconds(15) }
  }

  /// How long the server may take to commit; `nil` for as long as it is at work.
  var commitTimeout: Duration? {
    guard let statementTimeout, statementTimeout > 0 else { return nil }
    return .seconds(statementTimeout + 1)
  }

  private static func connectionString(_ environment: StoreEnvironment) throws -> String {
    let option = try environment.text(PostgreSQLOption.connectionString, "a text, and not empty") { !$0.isEmpty }
    if let option { return option }
    guard let url = environment.url, ["postgresql", "postgres"].contains(url.scheme) else {
      throw CoherenceError(
        .storeInaccessible,
        "A PostgreSQL store needs the URL of its database, postgresql://user@host/database, as its location.")
    }
    return url.absoluteString
  }
}
