import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct OutcomeTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  /// Has the server end the connection when a record is inserted: at once, or when its transaction commits.
  private func endConnections(_ event: SQLFragment, _ timing: SQLFragment) throws {
    _ = try schema.administration().run(
      [
        """
        CREATE FUNCTION \(name: "end") () RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN PERFORM pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid()); RETURN NEW; END'
        """,
        """
        CREATE \(event) INSERT ON \(name: "Person") \(timing) FOR EACH ROW EXECUTE FUNCTION \(name: "end") ()
        """,
      ], isPrepared: false)
  }

  @Test func `a save whose connection breaks in the middle is not applied`() throws {
    let store = try schema.open(PeopleModel.make())
    let first = try store.insert("Person", ["name": .string("a")])
    try endConnections("TRIGGER t BEFORE", "")
    let row = try store.row("Person")
    let error = #expect(throws: CoherenceError.self) {
      try store.save(first.update(["name": .string("b")]), .insert(row.entity, [row]))
    }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .notApplied)
    #expect(error?.isRetryable == true)
    #expect(try store.fetch("Person").map(\.version) == [1])
  }

  @Test func `a large save whose connection breaks in the middle is not applied`() throws {
    let store = try schema.open(PeopleModel.make())
    try endConnections("TRIGGER t BEFORE", "")
    let rows = try (0..<2000).map { _ in try store.row("Person") }
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(rows[0].entity, rows)) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .notApplied)
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `a save whose connection breaks before the commit reports that it was not applied`() throws {
    let store = try schema.open(PeopleModel.make())
    try endConnections("CONSTRAINT TRIGGER t AFTER", "DEFERRABLE INITIALLY DEFERRED")
    let row = try store.row("Person")
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .notApplied)
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `a save whose response is lost is known to be applied`() throws {
    let proxy = try SocketProxy(to: schema.url)
    let store = try schema.openPeople(over: proxy)
    let row = try store.row("Person")
    proxy.loseAnswers(after: "COMMIT\0")
    try store.save(.insert(row.entity, [row]))
    #expect(proxy.hasTriggered)
    #expect(try store.fetch("Person").map(\.id) == [row.id])
  }

  @Test func `a save whose response is lost with the server is of unknown outcome`() throws {
    let proxy = try SocketProxy(to: schema.url)
    let store = try schema.openPeople(over: proxy, options: [PostgreSQLOption.poolTimeout: 0.5])
    let row = try store.row("Person")
    proxy.loseAnswers(after: "COMMIT\0", forGood: true)
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .unknown)
    #expect(error?.isRetryable == false)
  }

  @Test func `a save whose commit never reached the server has the outcome notApplied and no locks`() throws {
    let proxy = try SocketProxy(to: schema.url)
    let store = try schema.openPeople(over: proxy, options: [PostgreSQLOption.statementTimeout: 5])
    // The text of a statement is sent once for each connection.
    try schema.open(PeopleModel.make()).insert("Person", ["name": .string("old")])
    let row = try #require(try store.fetch("Person").first)
    proxy.stall(at: "COMMIT\0")
    let error = #expect(throws: CoherenceError.self) { try store.save(row.update(["name": .string("lost")])) }
    #expect(proxy.hasTriggered)
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .notApplied)
    try store.save(row.update(["name": .string("new")]))
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `a save whose commit is answered into a link that stalls is known to be applied`() throws {
    let proxy = try SocketProxy(to: schema.url)
    let store = try schema.openPeople(over: proxy, options: [PostgreSQLOption.statementTimeout: 5])
    let row = try store.row("Person")
    proxy.stall(at: "COMMIT\0", reachesServer: true)
    try store.save(.insert(row.entity, [row]))
    #expect(proxy.hasTriggered)
    #expect(try store.fetch("Person").map(\.id) == [row.id])
  }

  @Test func `a save is verified by its own mark and not by the mark of another session`() throws {
    let store = try schema.open(PeopleModel.make())
    let row = try store.insert("Person")
    let connection = try schema.administration()
    let first = PostgreSQLCommitMark(nextOf: connection, in: store.identifier)
    try first.write(on: connection)
    let second = PostgreSQLCommitMark(nextOf: connection, in: store.identifier)
    let stranger = PostgreSQLCommitMark(nextOf: try schema.administration(), in: store.identifier)
    let witness = try schema.administration()
    #expect(try first.isCommitted(of: nil, askedOn: witness) == true)
    #expect(try second.isCommitted(of: nil, askedOn: witness) == false)
    #expect(try stranger.isCommitted(of: nil, askedOn: witness) == false)
    #expect(try store.current(row) != nil)
  }
}

extension PostgreSQLCommitMark {
  fileprivate func write(on connection: PostgreSQLConnection) throws {
    try send(on: connection)
    try connection.synchronize()
    _ = try connection.receive()
    try connection.discardResponses()
  }
}
