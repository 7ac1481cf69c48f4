import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import TestSupport
import Testing

/// A user who may read and write the tables of a store, and may make none.
@Suite(.needsServer) struct RestrictedUserTests {
  private let schema: TemporarySchema
  private let administration: PostgreSQLConnection

  init() throws {
    schema = try TemporarySchema()
    administration = try schema.administration()
  }

  /// Runs a block while the user exists, who has the name of the schema.
  private func withUser(_ body: () throws -> Void) throws {
    _ = try administration.run(
      [
        "CREATE ROLE \(name: schema.name) LOGIN", "GRANT USAGE ON SCHEMA \(name: schema.name) TO \(name: schema.name)",
        """
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(name: schema.name) TO \(name: schema.name)
        """,
      ], isPrepared: false)
    defer {
      _ = try? administration.run(
        ["DROP OWNED BY \(name: schema.name)", "DROP ROLE \(name: schema.name)"], isPrepared: false)
    }
    try body()
  }

  @Test func `a user without the right to make tables opens a store whose table of commits has expired rows`() throws {
    let model = try PeopleModel.make()
    try schema.open(model).close()
    try administration.insertExpiredCommit()
    try withUser {
      let store = try schema.open(model, url: schema.url(with: ["user": schema.name]))
      try store.insert("Person")
      #expect(try store.fetch("Person").count == 1)
      store.close()
    }
    let expired = try administration.run(
      "SELECT 1 FROM \(name: PostgreSQLCommitMark.table) WHERE \(PostgreSQLCommitMark.isExpired)", isPrepared: false)
    #expect(expired.rowCount == 0)
  }

  @Test func `many records are inserted at once into a table with row security`() throws {
    let model = try PeopleModel.make()
    try schema.open(model).close()
    _ = try administration.run(
      [
        "ALTER TABLE \(name: "Person") ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY \(name: "all") ON \(name: "Person") USING (TRUE)",
      ], isPrepared: false)
    try withUser {
      let store = try schema.open(model, url: schema.url(with: ["user": schema.name]))
      let rows = try (0..<1000).map { try store.row("Person", ["name": .string("\($0)")]) }
      try store.save(.insert(rows[0].entity, rows))
      #expect(try store.fetch("Person").map(\.id) == rows.map(\.id))
      store.close()
    }
  }
}

extension PostgreSQLConnection {
  /// Inserts the row of a session that ended more than a week ago into the table of commits.
  func insertExpiredCommit() throws {
    try run(
      """
      INSERT INTO \(name: PostgreSQLCommitMark.table) (\(name: "session"), \(name: "number"), \(name: "written")) \
      VALUES (pg_catalog.gen_random_uuid(), 1, pg_catalog.now() - INTERVAL '8 days')
      """, isPrepared: false)
  }
}
