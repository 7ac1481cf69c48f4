import CoherenceCore
import CoherenceSQL
import Foundation

/// What a transaction writes to prove that it was committed: its number, in the row of its session in the table of
/// commits.
///
/// No statement of the server about a transaction would prove it. After a crash the server gives numbers of
/// transactions out again, so a lost transaction seems committed once another one got its number; and versions of rows
/// may be another writer's. A session's identifier is random and its numbers rise, so only the transaction itself can
/// have written the mark. See "Transaction ID" and `pg_xact_status` in PostgreSQL's manual for the limits of the
/// server's knowledge.
///
/// The row is written again by each transaction of the session, in its place (a HOT update), beside the row's lock, for
/// which no other session competes.
struct PostgreSQLCommitMark: Sendable {
  /// The table of commits, with a row for each session that wrote.
  static let table = "$commits"

  private let session: UUID
  private let number: Int64
  /// Whether the session has a row already. Rows of sessions without a transaction for seven days are removed.
  private let hasRow: Bool

  /// The mark of the connection's next transaction.
  init(nextOf connection: PostgreSQLConnection) {
    connection.transactionNumber += 1
    session = connection.session
    number = connection.transactionNumber
    hasRow = connection.lastMark.map { ContinuousClock.now - $0 < .seconds(86_400) } ?? false
  }

  // MARK: Writing

  /// Queues the statement that writes the mark. It changes one row, or none when the session's row was removed.
  func send(on connection: PostgreSQLConnection) throws {
    try send(hasRow ? Self.updating : Self.inserting, on: connection)
  }

  /// Writes the mark of a session whose row was removed.
  func insert(on connection: PostgreSQLConnection) throws {
    try connection.settling {
      try send(Self.inserting, on: connection)
      try connection.synchronize()
      _ = try connection.receive()
      try connection.settle()
    }
  }

  private func send(_ text: PostgreSQLText, on connection: PostgreSQLConnection) throws {
    try connection.send(text) { fields in
      fields.append(session)
      fields.append(number)
    }
  }

  // Half the work of an insert that conflicts, which locks the row before it writes it.
  private static let updating = PostgreSQLText(
    """
    UPDATE "\(table)" SET "number" = $2, "written" = pg_catalog.now() WHERE "session" = $1
    """, types: [PostgreSQLBinary.type(of: .uuid), PostgreSQLBinary.type(of: .int64)])

  private static let inserting = PostgreSQLText(
    """
    INSERT INTO "\(table)" ("session", "number", "written") VALUES ($1, $2, pg_catalog.now()) \
    ON CONFLICT ("session") DO UPDATE SET "number" = excluded."number", "written" = excluded."written"
    """, types: [PostgreSQLBinary.type(of: .uuid), PostgreSQLBinary.type(of: .int64)])

  // MARK: Proving

  /// Whether the transaction was committed, durably and on every standby that commits wait for.
  ///
  /// The session's row is written once more. That waits for the end of the transaction, which holds the row's lock since
  /// its beginning; and its commit comes after that of the transaction, wherever it has to arrive.
  ///
  /// - Parameter process: The process that the transaction was made by. One that waits for a commit that never came is
  ///   ended.
  /// - Returns: `nil` when the row that the session had is gone, which proves nothing.
  /// - Throws: When the server leaves it open: it refuses to write, or does not respond in time.
  func isCommitted(of process: PostgreSQLProcess?, askedOn connection: PostgreSQLConnection) throws -> Bool? {
    if let process {
      try connection.run(
        """
        SELECT CAST(pg_catalog.pg_terminate_backend(pid) AS pg_catalog.text) \(process.activity) \
        AND \(PostgreSQLProcess.waitsForClient)
        """, isKept: false)
    }
    try connection.send(Self.asking) { $0.append(session) }
    try connection.synchronize()
    let last = try connection.receive().int(0, 0)
    try connection.settle()
    guard let last else { throw CoherenceError.connectionLost() }
    return last == 0 && hasRow ? nil : last >= number
  }

  private static let asking = PostgreSQLText(
    """
    INSERT INTO "\(table)" AS "c" ("session", "number", "written") VALUES ($1, 0, pg_catalog.now()) \
    ON CONFLICT ("session") DO UPDATE SET "written" = excluded."written" RETURNING "c"."number"
    """, types: [PostgreSQLBinary.type(of: .uuid)], isKept: false)

  // MARK: The table

  /// The statement that makes the table. Half of each page is left free for the rows to be written again.
  static func creation(in schema: String) -> SQLFragment {
    """
    CREATE TABLE IF NOT EXISTS \(name: schema).\(name: table) (\(name: "session") pg_catalog.uuid NOT NULL PRIMARY KEY, \
    \(name: "number") bigint NOT NULL, \(name: "written") pg_catalog.timestamptz NOT NULL) WITH (fillfactor = 50)
    """
  }

  /// The statement that removes old rows, mostly of ended sessions. A session still in use makes its row anew.
  static func removal(in schema: String) -> SQLFragment {
    """
    DELETE FROM \(name: schema).\(name: table) WHERE \(name: "written") < pg_catalog.now() - INTERVAL '7 days'
    """
  }
}
