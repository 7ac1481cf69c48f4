import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import TestSupport
import Testing

/// The rows of ended sessions in the table of commits.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct CommitTableTests {
  @Test func `a store that stays open removes the expired rows of the table of commits from time to time`() throws {
    let schema = try TemporarySchema()
    let store = try schema.openNamed(PeopleModel.make())
    let administration = try schema.administration()
    func expiredCount() throws -> Int {
      try administration.run(
        "SELECT 1 FROM \(name: PostgreSQLCommitMark.table) WHERE \(PostgreSQLCommitMark.isExpired)", isPrepared: false
      ).rowCount
    }
    try administration.insertExpiredCommit()
    try store.insert("Person")
    #expect(try expiredCount() == 1)
    // As by the sessions of further connections.
    let sessions = try #require(store as? PostgreSQLStore).pool.commitSessions
    for _ in 2..<PostgreSQLCommitSessions.interval { #expect(!sessions.add()) }
    try schema.terminateConnections()
    try store.insert("Person")
    #expect(try expiredCount() == 0)
    #expect(try store.fetch("Person").count == 2)
    store.close()
  }
}
