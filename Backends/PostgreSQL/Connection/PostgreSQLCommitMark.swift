import CoherenceCore
import CoherenceSQL
import Foundation

/// The mark that a transaction writes to prove its commit: its number, in the row of its session in the table of
/// commits.
///
/// The server's own functions cannot prove a commit. After a crash the server assigns transaction numbers again, so a
/// lost transaction seems committed once another transaction got its number. Versions of rows prove nothing either,
/// because another writer may have written them. A session's identifier is random and its numbers rise, so only the
/// transaction itself can have written the mark. See "Transaction ID" and `pg_xact_status` in PostgreSQL's manual for
/// the limits of the server's knowledge.
///
/// The session's first transaction inserts the row, and each later one updates the row in place (a HOT update). Other
/// sessions lock the row only to prove a commit, and to remove an old row.
struct PostgreSQLCommitMark: Sendable {
  /// The table of commits, with a row for each session that wrote.
  static let table = PostgreSQLDialect.tableOfCommits

  private let session: UUID
  private let number: Int64
  /// Whether the session certainly has a row: it wrote the row within the last day, and rows are removed only after
  /// seven days.
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
    try connection.recovering {
      try send(Self.inserting, on: connection)
      try connection.synchronize()
      _ = try connection.receive()
      try connection.discardResponses()
    }
  }

  private func send(_ text: PostgreSQLText, on connection: PostgreSQLConnection) throws {
    try connection.send(text) { fields in
      fields.append(session)
      fields.append(number)
    }
  }

  // An update costs half as much as an insert with a conflict, which locks the row before it writes it.
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
  /// Writes the session's row once more. The write waits for the end of the transaction, which holds the row's lock
  /// since its beginning. Its commit follows the transaction's commit, on every standby too.
  ///
  /// - Parameter process: The server process of the transaction. The call ends the process if it waits for a commit
  ///   statement that never arrived.
  /// - Returns: `nil` if the session's row was removed, which proves nothing.
  /// - Throws: An error if the server refuses to write or does not respond in time, so that the outcome stays unknown.
  func isCommitted(of process: PostgreSQLProcess?, askedOn connection: PostgreSQLConnection) throws -> Bool? {
    if let process { try connection.run(process.termination, isPrepared: false) }
    try connection.send(Self.asking) { $0.append(session) }
    try connection.synchronize()
    let last = try connection.receive().int(0, 0)
    try connection.discardResponses()
    guard let last else { throw CoherenceError.connectionLost() }
    return last == 0 && hasRow ? nil : last >= number
  }

  private static let asking = PostgreSQLText(
    """
    INSERT INTO "\(table)" AS "c" ("session", "number", "written") VALUES ($1, 0, pg_catalog.now()) \
    ON CONFLICT ("session") DO UPDATE SET "written" = excluded."written" RETURNING "c"."number"
    """, types: [PostgreSQLBinary.type(of: .uuid)], isPrepared: false)

  // MARK: The table

  /// The statement that makes the table. Half of each page is left free for the rows to be written again.
  static func creation(in schema: String) -> SQLFragment {
    """
    CREATE TABLE IF NOT EXISTS \(name: schema).\(name: table) (\(name: "session") pg_catalog.uuid NOT NULL \
    PRIMARY KEY, \(name: "number") bigint NOT NULL, \(name: "written") pg_catalog.timestamptz NOT NULL) \
    WITH (fillfactor = 50)
    """
  }

  /// The statement that removes old rows, mostly of ended sessions. An idle session whose row was removed inserts it
  /// again.
  static func removal(in schema: String) -> SQLFragment {
    "DELETE FROM \(name: schema).\(name: table) WHERE \(isExpired)"
  }

  /// The condition on a row that its session has not written for seven days.
  static let isExpired: SQLFragment = "\(name: "written") < pg_catalog.now() - INTERVAL '7 days'"
}
