import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// The outcomes that a store reports for a transaction without a response to its commit.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct CommitClaimTests {
  private let schema: TemporarySchema
  private let proxy: SocketProxy

  init() throws {
    schema = try TemporarySchema()
    proxy = try SocketProxy(to: schema.url)
  }

  private func open() throws -> any PersistentStore {
    try schema.openPeople(
      over: proxy, options: [PostgreSQLOption.statementTimeout: 5, PostgreSQLOption.poolTimeout: 5])
  }

  /// An error of the server, as the protocol has it.
  private func errorResponse(_ severity: String, _ code: String) -> Data {
    var body = Data()
    for (field, text) in [("S", severity), ("V", severity), ("C", code), ("M", "could not fsync")] {
      body += Data(field.utf8) + Data(text.utf8) + [0]
    }
    body.append(0)
    let length = UInt32(body.count + 4).bigEndian
    return Data("E".utf8) + withUnsafeBytes(of: length) { Data($0) } + body
  }

  @Test(arguments: ["PANIC", "FATAL"])
  func `a commit applied by a server that fails before it responds is acknowledged`(
    _ severity: String
  ) throws {
    let store = try open()
    let row = try store.row("Person")
    proxy.answer("COMMIT\0", with: errorResponse(severity, "58030"))
    try store.save(.insert(row.entity, [row]))
    #expect(proxy.hasTriggered)
    #expect(try store.fetch("Person").map(\.id) == [row.id])
  }

  @Test func `a save cancelled late is applied completely, or its error says that it was not applied`() async throws {
    let store = try schema.open(PeopleModel.make())
    let administration = try schema.administration()
    // The cancelled trigger continues, and the commit waits four seconds for a lock.
    _ = try administration.run(
      [
        """
        CREATE FUNCTION \(name: "deafen") () RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock(4713); RETURN NULL; \
        EXCEPTION WHEN query_canceled THEN RETURN NULL; END'
        """,
        """
        CREATE TRIGGER \(name: "deafen") BEFORE INSERT ON \(name: "Person") FOR EACH STATEMENT \
        EXECUTE FUNCTION \(name: "deafen") ()
        """,
        """
        CREATE FUNCTION \(name: "wait") () RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '4s' AS \
        'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock(4713); RETURN NEW; \
        EXCEPTION WHEN lock_not_available THEN RETURN NEW; END'
        """,
        """
        CREATE CONSTRAINT TRIGGER \(name: "wait") AFTER INSERT ON \(name: "Person") DEFERRABLE INITIALLY DEFERRED \
        FOR EACH ROW WHEN (NEW.\(name: "name") = 'last') EXECUTE FUNCTION \(name: "wait") ()
        """,
      ], isPrepared: false)
    try administration.run("SELECT pg_catalog.pg_advisory_lock(4713)", isPrepared: false)
    // So many that they are copied.
    let rows = try (0..<600).map { try store.row("Person", ["name": .string($0 == 599 ? "last" : "one of many")]) }
    let task = Task.detached(executorPreference: ThreadExecutor()) { try store.save(.insert(rows[0].entity, rows)) }
    while try !isWaiting(for: administration) { await Task.yield() }
    task.cancel()
    switch await task.result {
    case .success: #expect(try store.fetch("Person").count == 600)
    case .failure(let error):
      // On a busy machine the task is noticed to be cancelled once more before the commit, which is not sent then.
      #expect((error as? CoherenceError)?.outcome == .notApplied)
      #expect(try store.fetch("Person").isEmpty)
    }
    withExtendedLifetime(administration) {}
  }

  private func isWaiting(for connection: PostgreSQLConnection) throws -> Bool {
    try connection.run(
      """
      SELECT 1 FROM pg_catalog.pg_stat_activity \
      WHERE pg_catalog.pg_backend_pid() = ANY(pg_catalog.pg_blocking_pids(pid))
      """
    ).rowCount > 0
  }

  @Test func `user info whose commit is not answered is of unknown outcome`() throws {
    let store = try open()
    proxy.loseAnswers(after: "COMMIT\0")
    let error = #expect(throws: CoherenceError.self) { try store.setUserInfo(["a": "b"]) }
    #expect(proxy.hasTriggered)
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .unknown)
    #expect(error?.isRetryable == false)
    #expect(try store.metadata().userInfo == ["a": "b"])
  }

  @Test func `a save cancelled over a stalled link leaves no lock`() async throws {
    // The end of the test would wait for the lock as well.
    defer { proxy.releaseAll() }
    let store = try schema.openPeople(over: proxy, options: [PostgreSQLOption.statementTimeout: 600])
    let row = try store.insert("Person", ["name": .string("old")])
    proxy.stall(at: "UPDATE \"Person\"", reachesServer: true)
    let task = Task.detached(executorPreference: ThreadExecutor()) {
      try store.save(row.update(["name": .string("lost")]))
    }
    while !proxy.hasTriggered { await Task.yield() }
    task.cancel()
    guard case .failure(let error) = await task.result else {
      Issue.record("The save succeeded.")
      return
    }
    #expect((error as? CoherenceError)?.code == .cancelled)
    #expect((error as? CoherenceError)?.outcome == .notApplied)
    let other = try schema.open(store.environment.model, options: [PostgreSQLOption.statementTimeout: 20])
    try other.save(row.update(["name": .string("new")]))
    #expect(try other.current(row)?["name"] == .string("new"))
  }
}
