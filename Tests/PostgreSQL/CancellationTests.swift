import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct CancellationTests {
  private let schema: TemporarySchema
  private let store: any PersistentStore
  private let row: Row

  init() throws {
    schema = try TemporarySchema()
    store = try schema.open(PeopleModel.make())
    row = try store.insert("Person", ["name": .string("old")])
  }

  /// Runs a block that waits for a lock in the server, cancels its task, and returns the block's error.
  private func cancelled(_ body: @escaping @Sendable () throws -> Void) async throws -> (any Error)? {
    let administration = try lockedOut()
    let task = Task.detached(executorPreference: ThreadExecutor()) { try body() }
    while try !isWaiting(for: administration) { await Task.yield() }
    task.cancel()
    let result = await task.result
    try administration.run("ROLLBACK", isPrepared: false)
    if case .failure(let error) = result { return error }
    return nil
  }

  /// A connection that locks the records until its transaction ends.
  private func lockedOut() throws -> PostgreSQLConnection {
    let administration = try schema.administration()
    _ = try administration.run(
      ["BEGIN", "LOCK TABLE \(name: "Person") IN ACCESS EXCLUSIVE MODE"], isPrepared: false)
    return administration
  }

  private func isWaiting(for connection: PostgreSQLConnection) throws -> Bool {
    try connection.run(
      """
      SELECT 1 FROM pg_catalog.pg_stat_activity \
      WHERE pg_catalog.pg_backend_pid() = ANY(pg_catalog.pg_blocking_pids(pid))
      """
    ).rowCount > 0
  }

  @Test func `a cancelled task interrupts a fetch in the server`() async throws {
    let store = store
    let error = try await cancelled { _ = try store.fetch("Person") }
    #expect((error as? CoherenceError)?.code == .cancelled)
    #expect(try store.fetch("Person").count == 1)
  }

  @Test func `a cancelled task interrupts a save in the server, which is not applied`() async throws {
    let store = store
    let row = row
    let error = try await cancelled { try store.save(row.update(["name": .string("new")])) }
    #expect((error as? CoherenceError)?.code == .cancelled)
    #expect((error as? CoherenceError)?.outcome == .notApplied)
    #expect(try store.current(row)?["name"] == .string("old"))
  }

  @Test(.timeLimit(.minutes(5)))
  func `a cancelled task interrupts a save that the server does not receive completely`() async throws {
    let store = store
    // More than the buffers between client and server take, and too few rows for a COPY.
    let name = AttributeValue.string(String(repeating: "x", count: 1 << 20))
    let rows = try (0..<20).map { _ in try store.row("Person", ["name": name]) }
    let error = try await cancelled { try store.save(.insert(rows[0].entity, rows)) }
    #expect((error as? CoherenceError)?.code == .cancelled)
    #expect((error as? CoherenceError)?.outcome == .notApplied)
    #expect(try store.fetch("Person").map { $0["name"] } == [.string("old")])
  }

  @Test func `a statement beyond its time limit is cancelled`() throws {
    let impatient = try schema.open(store.environment.model, options: [PostgreSQLOption.statementTimeout: 0.05])
    let administration = try lockedOut()
    let error = #expect(throws: CoherenceError.self) { try impatient.fetch("Person") }
    #expect(error?.code == .storeBusy)
    #expect(error?.isRetryable == true)
    try administration.run("ROLLBACK", isPrepared: false)
  }
}
