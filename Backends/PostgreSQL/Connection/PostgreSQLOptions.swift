import CoherenceCore
import Foundation

/// The names of the options of PostgreSQL stores, in addition to ``StoreOption``. A time is at most a day.
///
/// libpq reads the password: from the URL, from the environment variable `PGPASSWORD`, or from `~/.pgpass`.
public enum PostgreSQLOption {
  /// The schema of the store's tables, created if it is missing. A `string`, `public` by default. Several stores can
  /// share a database when each has a schema of its own.
  public static let schema = "schema"
  /// The maximum number of connections in the store's pool, one of which is reserved for saves. An `int` from 2 to 1000,
  /// 8 by default.
  ///
  /// While all connections are in use, a further caller gets the connection of an idle reader, which continues in a
  /// later state of the store. Streams of records, pinned snapshots, nested snapshots of one thread, and the streams of
  /// signals together have connections beyond this number.
  public static let poolSize = "poolSize"
  /// The longest wait in seconds. An `int` or `double`, 30 by default. It limits three waits:
  ///
  /// - for a free connection, before ``ErrorCode/tooManyConnections``, also while the server refuses further ones;
  /// - for a new connection, the look-up of the host's name included, before ``ErrorCode/serverUnreachable``; two
  ///   seconds at least;
  /// - for the proof of a commit, after the connection was lost during the commit.
  public static let poolTimeout = "poolTimeout"
  /// The greatest age in seconds of a connection of the pool, after which its next return to the pool, or its next use,
  /// replaces it. An `int` or `double`; by default no age. A connection ends up to a tenth earlier, so that connections
  /// of one age do not all end at once.
  ///
  /// For servers behind an address that leads to other servers in the course of time, and for settings of the server
  /// that only new connections have. At zero, no connection is used twice. A connection that waits for signals, or keeps
  /// a pinned snapshot, has no lifetime while it does so.
  public static let connectionLifetime = "connectionLifetime"
  /// The time limit in seconds for one statement, before ``ErrorCode/storeBusy``. An `int` or `double`; by default the
  /// server's own setting. The server does not limit a commit, so the client does: the save then fails with
  /// ``ErrorCode/connectionLost``, and the client looks for the proof of the commit as after a lost connection.
  ///
  /// A stream is one statement, and its time includes that of the loop that reads it. A change of the schema at the
  /// opening of a store has the limit too, also while it waits for a lock. A long export, and a migration of many
  /// records, therefore need a store without the limit.
  ///
  /// If the server sends nothing for a second longer than the limit, or for 15 seconds without this option, another
  /// connection asks the server about the statement. If the server does not work on the statement, or does not respond
  /// within a few seconds, the call throws ``ErrorCode/connectionLost``. So no call waits for a dead connection.
  public static let statementTimeout = "statementTimeout"
  /// The longest wait in seconds for each lock of another program, while a store is opened with a change of its schema,
  /// set aside or erased, before ``ErrorCode/storeBusy``. An `int` or `double`, 30 by default.
  ///
  /// Another program has such a lock while it changes the schema itself, and while it has a transaction on a table that
  /// the change concerns. During the wait for a table, later transactions on the table wait too.
  public static let schemaLockTimeout = "schemaLockTimeout"
  /// The connection string, `host=… dbname=…` or `postgresql://…`, in place of the store's URL: for several hosts that
  /// a URL cannot hold. A `string`.
  public static let connectionString = "connectionString"
}

/// The options of a store, checked.
struct PostgreSQLOptions: Sendable {
  var schema = "public"
  var poolSize = 8
  var poolTimeout: TimeInterval = 30
  var connectionLifetime: TimeInterval?
  var statementTimeout: TimeInterval?
  var schemaLockTimeout: TimeInterval = 30
  var isReadOnly: Bool
  /// The connection string. A secret, because it may contain the password.
  let connectionString: String

  init(_ environment: StoreEnvironment) throws {
    try environment.checkOptionNames(
      besides: [
        PostgreSQLOption.schema, PostgreSQLOption.poolSize, PostgreSQLOption.poolTimeout,
        PostgreSQLOption.connectionLifetime, PostgreSQLOption.statementTimeout, PostgreSQLOption.schemaLockTimeout,
        PostgreSQLOption.connectionString,
      ])
    isReadOnly = environment.isReadOnly
    connectionString = try Self.connectionString(environment)
    schema =
      try environment.text(
        PostgreSQLOption.schema,
        "a name of 1 to 63 bytes, but not `$user`, `information_schema` or a name that begins with `pg_`",
        where: Self.isFree) ?? schema
    poolSize = try environment.number(PostgreSQLOption.poolSize, in: 2...1000) ?? poolSize
    poolTimeout = try environment.seconds(PostgreSQLOption.poolTimeout) ?? poolTimeout
    connectionLifetime = try environment.seconds(PostgreSQLOption.connectionLifetime)
    statementTimeout = try environment.seconds(PostgreSQLOption.statementTimeout)
    schemaLockTimeout = try environment.seconds(PostgreSQLOption.schemaLockTimeout) ?? schemaLockTimeout
  }

  /// Whether a schema can have the name. In a search path, `$user` stands for the user's schema, even in quotation
  /// marks.
  private static func isFree(_ name: String) -> Bool {
    (1...63).contains(name.utf8.count) && !name.utf8.contains(0) && name != "$user" && name != "information_schema"
      && !name.hasPrefix("pg_")
  }

  /// The longest silence of the server, after which another connection asks whether the server works on the statement.
  var silenceTimeout: Duration {
    if let statementTimeout, statementTimeout > 0 { .seconds(statementTimeout + 1) } else { .seconds(15) }
  }

  /// The time limit of a commit; `nil` to wait as long as the server works on it.
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
