import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging
import TestSupport
import Testing

/// A probe sees whether a silent server is at work, with every setting of the server.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct ProbeTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  private func options(_ changes: [String: String] = [:]) throws -> PostgreSQLOptions {
    try PostgreSQLOptions(schema.environment(PeopleModel.make(), url: schema.url(with: changes)))
  }

  private func connect(_ changes: [String: String] = [:]) throws -> PostgreSQLConnection {
    try PostgreSQLConnection.connect(options(changes), logger: Logger(label: "test"))
  }

  /// Whether a probe finds a connection at work that waits for a lock in the server.
  private func isFoundWaiting(_ connection: PostgreSQLConnection, _ options: PostgreSQLOptions) throws -> Bool {
    let lock: SQLFragment = "SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext(\(text: schema.name)))"
    let holder = try connect()
    try holder.run(lock, isPrepared: false)
    try connection.send(lock.rendered(by: PostgreSQLDialect()))
    try connection.synchronize()
    while try holder.run(
      """
      SELECT 1 FROM pg_catalog.pg_stat_activity \
      WHERE pg_catalog.pg_backend_pid() = ANY(pg_catalog.pg_blocking_pids(pid))
      """
    ).rowCount == 0 {}
    let isWorking = PostgreSQLProbe(options, logger: Logger(label: "test")).endIfStalled(
      connection.process, on: connection.host)
    try holder.run("SELECT pg_catalog.pg_advisory_unlock_all()", isPrepared: false)
    // Only a session not ended by the probe gets the lock.
    _ = try connection.receive()
    try connection.discardResponses()
    return isWorking
  }

  /// Runs a block while a role of the schema's name exists.
  private func withRole(_ options: SQLFragment, _ body: (PostgreSQLConnection) throws -> Void) throws {
    let administration = try connect()
    try administration.run("CREATE ROLE \(name: schema.name) LOGIN \(options)", isPrepared: false)
    defer { _ = try? administration.run("DROP ROLE \(name: schema.name)", isPrepared: false) }
    try body(administration)
  }

  @Test func `a server that does not track activities is seen to be at work`() throws {
    let connection = try connect()
    try connection.run("SET track_activities = off", isPrepared: false)
    #expect(try isFoundWaiting(connection, options()))
  }

  @Test func `a probe detects a busy server after a change of the server's time zone`() throws {
    try withRole("SUPERUSER") { administration in
      try administration.run("ALTER ROLE \(name: schema.name) SET TimeZone = 'Asia/Tokyo'", isPrepared: false)
      let connection = try connect(["user": schema.name])
      try administration.run("ALTER ROLE \(name: schema.name) SET TimeZone = 'America/Lima'", isPrepared: false)
      #expect(try isFoundWaiting(connection, options(["user": schema.name])))
    }
  }

  @Test func `a server without a connection left for the probe counts as at work`() throws {
    try withRole("CONNECTION LIMIT 1") { _ in
      let connection = try connect(["user": schema.name])
      #expect(try isFoundWaiting(connection, options(["user": schema.name])))
    }
  }
}
