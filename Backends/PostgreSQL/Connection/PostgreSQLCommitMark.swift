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
///
/// The insert demands the identifier of the store. Another store may have come into the place of the store: its database
/// was created anew, or its tables. The records of the other store have the keys and the versions of the former records,
/// so that no save would see a conflict. A session of the former store has no row there, and never gets one.
struct PostgreSQLCommitMark: Sendable {
  /// The table of commits, with a row for each session that wrote.
  static let table = PostgreSQLDialect.tableOfCommits

  private let session: UUID
  private let number: Int64
  /// Whether the session certainly has a row: it wrote the row within the last day, and rows are removed only after
  /// seven days.
  private let hasRow: Bool
  /// The identifier of the store in whose tables the mark belongs.
  private let store: String

  /// The mark of the connection's next transaction.
  init(nextOf connection: PostgreSQLConnection, in store: StoreIdentifier) {
    self.store = store.rawValue
    connection.transactionNumber += 1
    session = connection.session
    number = connection.transactionNumber
    hasRow = connection.lastMark.map { ContinuousClock.now - $0 < .seconds(86_400) } ?? false
  }

  // MARK: Writing

  /// Queues the statement that writes the mark. It changes one row, or none when the session's row was removed or the
  /// tables are those of another store.
  func send(on connection: PostgreSQLConnection) throws {
    if hasRow { try sendUpdate(on: connection) } else { try sendInsert(on: connection) }
  }

  /// Writes the mark of a session whose row was removed.
  ///
  /// - Throws: ``ErrorCode/schemaChanged`` if the tables are those of another store.
  func insert(on connection: PostgreSQLConnection) throws {
    let count = try connection.recovering {
      try sendInsert(on: connection)
      try connection.synchronize()
      let count = try connection.receive().affectedCount
      try connection.discardResponses()
      return count
    }
    guard count > 0 else { throw CoherenceError.storeReplaced(in: "the schema '\(connection.options.schema)'") }
  }

  private func sendUpdate(on connection: PostgreSQLConnection) throws {
    try connection.send(Self.updating) { fields in
      fields.append(session)
      fields.append(number)
    }
  }

  private func sendInsert(on connection: PostgreSQLConnection) throws {
    try connection.send(Self.inserting) { fields in
      fields.append(session)
      fields.append(number)
      fields.append(store)
    }
  }

  // An update costs half as much as an insert with a conflict, which locks the row before it writes it.
  private static let updating = PostgreSQLText(
    """
    UPDATE "\(table)" SET "number" = $2, "written" = pg_catalog.now() WHERE "session" = $1
    """, types: [PostgreSQLBinary.type(of: .uuid), PostgreSQLBinary.type(of: .int64)])

  private static let inserting = PostgreSQLText(
    """
    INSERT INTO "\(table)" ("session", "number", "written") SELECT $1, $2, pg_catalog.now() \
    FROM "\(SQLSchema.metadataTable)" WHERE "key" = 'metadata' AND pg_catalog.strpos("value", $3) > 0 \
    ON CONFLICT ("session") DO UPDATE SET "number" = excluded."number", "written" = excluded."written"
    """,
    types: [PostgreSQLBinary.type(of: .uuid), PostgreSQLBinary.type(of: .int64), PostgreSQLBinary.type(of: .string)])

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
