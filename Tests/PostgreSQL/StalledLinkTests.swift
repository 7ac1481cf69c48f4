import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging
import TestSupport
import Testing

/// A link that passes no data any longer, although neither side has closed it.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct StalledLinkTests {
  private let schema: TemporarySchema
  private let proxy: SocketProxy

  init() throws {
    schema = try TemporarySchema()
    proxy = try SocketProxy(to: schema.url)
  }

  private func open() throws -> any PersistentStore {
    try schema.openPeople(
      over: proxy, options: [PostgreSQLOption.statementTimeout: 5, PostgreSQLOption.poolTimeout: 2])
  }

  @Test(arguments: [false, true])
  func `a fetch over a stalled link fails, and the next fetch uses a new connection`(_ isForGood: Bool) throws {
    let store = try open()
    try store.insert("Person")
    proxy.stall(at: "FROM \"Person\"", forGood: isForGood)
    let error = #expect(throws: CoherenceError.self) { try store.fetch("Person") }
    #expect(proxy.hasTriggered)
    #expect(error?.code == .connectionLost)
    #expect(error?.isRetryable == true)
    if isForGood {
      #expect(throws: CoherenceError.self) { try store.fetch("Person") }
    } else {
      #expect(try store.fetch("Person").count == 1)
    }
  }

  @Test func `a save over a link that stalls before its commit is not applied and leaves no lock`() throws {
    let store = try open()
    let row = try store.insert("Person", ["name": .string("old")])
    proxy.stall(at: "UPDATE \"Person\"", reachesServer: true)
    let error = #expect(throws: CoherenceError.self) { try store.save(row.update(["name": .string("lost")])) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .notApplied)
    try store.save(row.update(["name": .string("new")]))
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `a large save over a link that stalls is not applied`() throws {
    let store = try open()
    let rows = try (0..<20_000).map { _ in
      try store.row("Person", ["name": .string(String(repeating: "x", count: 200))])
    }
    proxy.stall(at: "COPY \"Person\"", reachesServer: true)
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(rows[0].entity, rows)) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .notApplied)
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `a save whose link and server are out of reach is of unknown outcome`() throws {
    let store = try open()
    let row = try store.row("Person")
    // The server's process holds locks, which the end of the test would wait for.
    defer { proxy.releaseAll() }
    proxy.stall(at: "COMMIT\0", forGood: true)
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .connectionLost)
    #expect(error?.outcome == .unknown)
  }

  @Test(arguments: [false, true])
  func `a fetch cancelled over a stalled link ends`(_ isForGood: Bool) async throws {
    // So long that nothing but the cancellation ends the fetch.
    let store = try schema.openPeople(over: proxy, options: [PostgreSQLOption.statementTimeout: 600])
    try store.insert("Person")
    proxy.stall(at: "FROM \"Person\"", forGood: isForGood)
    let task = Task.detached(executorPreference: ThreadExecutor()) { _ = try store.fetch("Person") }
    while !proxy.hasTriggered { await Task.yield() }
    task.cancel()
    guard case .failure(let error) = await task.result else {
      Issue.record("The fetch succeeded.")
      return
    }
    #expect((error as? CoherenceError)?.code == .cancelled)
  }

  @Test func `a probe distinguishes a busy server from a server that waits for its client`() async throws {
    let options = try PostgreSQLOptions(schema.environment(PeopleModel.make()))
    let probe = PostgreSQLProbe(options, logger: Logger(label: "test"))
    let administration = try schema.administration()
    let connection = try schema.administration()
    _ = try administration.run(["BEGIN", "SELECT pg_catalog.pg_advisory_xact_lock(4711)"], isPrepared: false)
    try connection.send(PostgreSQLText("SELECT pg_catalog.pg_advisory_lock(4711)"))
    try connection.synchronize()
    while try administration.run("SELECT 1 FROM pg_catalog.pg_locks WHERE NOT granted AND objid = 4711").rowCount == 0 {
      await Task.yield()
    }
    #expect(probe.endIfStalled(connection.process, on: connection.host))
    try administration.run("ROLLBACK", isPrepared: false)
    _ = try connection.receive()
    try connection.discardResponses()
    // A process is not ended right after its response.
    while probe.endIfStalled(connection.process, on: connection.host) { await Task.yield() }
    #expect(throws: CoherenceError.self) { try connection.run("SELECT 1") }
  }

  @Test func `a process is not ended in place of a former process with its number`() throws {
    let options = try PostgreSQLOptions(schema.environment(PeopleModel.make()))
    let connection = try schema.administration()
    var process = try #require(connection.process)
    process = PostgreSQLProcess(number: process.number, start: process.start - 1)
    #expect(!PostgreSQLProbe(options, logger: Logger(label: "test")).endIfStalled(process, on: connection.host))
    try connection.run("SELECT 1")
  }
}
