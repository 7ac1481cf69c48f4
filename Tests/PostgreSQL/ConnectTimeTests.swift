import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Dispatch
import Foundation
import TestSupport
import Testing

/// The time limits of connecting and of commits.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct ConnectTimeTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  @Test
  func `connecting to a server that accepts connections and never responds times out, with any timeout in the URL`()
    throws
  {
    let proxy = try SocketProxy(to: schema.url)
    defer { proxy.releaseAll() }
    let store = try schema.open(
      PeopleModel.make(), url: schema.url(with: ["host": proxy.directory.path, "connect_timeout": "0"]),
      options: [PostgreSQLOption.statementTimeout: 1, PostgreSQLOption.poolTimeout: 2])
    try store.insert("Person")
    proxy.stall(at: "FROM \"Person\"", forGood: true)
    #expect(throws: CoherenceError.self) { try store.fetch("Person") }
    let error = #expect(throws: CoherenceError.self) { try store.fetch("Person") }
    #expect(error?.code == .serverUnreachable)
    #expect(error?.isRetryable == true)
    #expect(error?.message.contains("within 2 seconds") == true)
  }

  @Test func `an endless call of the client library is abandoned, and its connection is closed when it ends`()
    throws
  {
    let goOn = DispatchSemaphore(value: 0)
    let settings = [("dbname", schema.url.absoluteString), ("application_name", schema.name)]
    let outcome = PostgreSQLConnectionAttempt.run(within: .milliseconds(1)) {
      goOn.wait()
      return PostgreSQLConnectionAttempt.ConnectionResult(connectingWith: settings)
    }
    #expect(outcome?.raw == nil)
    #expect(PostgreSQLConnectionAttempt.abandonedCount > 0)
    goOn.signal()
    while PostgreSQLConnectionAttempt.abandonedCount > 0 { sched_yield() }
    let administration = try schema.administration()
    while try administration.run(
      "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: schema.name)"
    ).rowCount > 0 { sched_yield() }
  }

  @Test func `a commit beyond the time limit of statements is abandoned`() throws {
    let store = try schema.open(
      PeopleModel.make(), options: [PostgreSQLOption.statementTimeout: 1, PostgreSQLOption.poolTimeout: 2])
    let row = try store.row("Person")
    let administration = try schema.administration()
    try administration.run(
      "SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext(\(text: schema.name)))", isPrepared: false)
    // The server's limit of a statement does not apply to deferred triggers at the commit.
    try administration.run(
      """
      CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql \
      AS $$ BEGIN PERFORM pg_catalog.pg_advisory_lock(pg_catalog.hashtext(TG_TABLE_SCHEMA)); RETURN NULL; END $$
      """, isPrepared: false)
    try administration.run(
      """
      CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON "Person" DEFERRABLE INITIALLY DEFERRED \
      FOR EACH ROW EXECUTE FUNCTION dawdle()
      """, isPrepared: false)
    defer {
      // Its locks would keep the schema from being dropped.
      _ = try? administration.run(
        """
        SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity \
        WHERE wait_event = 'advisory' AND query = 'COMMIT'
        """, isPrepared: false)
    }
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .unknown)
  }
}

/// Without a server.
@Suite struct AttemptTests {
  @Test func `stuck attempts do not grow in number without bound`() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<PostgreSQLConnectionAttempt.mostAbandoned {
        _ = PostgreSQLConnectionAttempt.run(within: .zero) {
          DispatchSemaphore(value: 0).wait()
          return PostgreSQLConnectionAttempt.ConnectionResult(raw: nil)
        }
      }
      #expect(PostgreSQLConnectionAttempt.abandonedCount == PostgreSQLConnectionAttempt.mostAbandoned)
      let outcome = PostgreSQLConnectionAttempt.run(within: .seconds(60)) { fatalError("The attempt was made.") }
      #expect(outcome?.raw == nil)
      #expect(PostgreSQLConnectionAttempt.abandonedCount == PostgreSQLConnectionAttempt.mostAbandoned)
    }
  }
}
