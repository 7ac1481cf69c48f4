import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// Settings of a server, a database or a role that would change the meaning of the store's statements.
@Suite(.needsServer) struct SessionSettingTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  /// The server's URL, with a setting for each session.
  private func url(setting name: String, to value: String) throws -> URL {
    let separator = schema.url.query(percentEncoded: true) == nil ? "?" : "&"
    return try #require(URL(string: "\(schema.url.absoluteString)\(separator)options=-c%20\(name)%3D\(value)"))
  }

  private func isBlocking(_ connection: PostgreSQLConnection) throws -> Bool {
    try connection.run(
      """
      SELECT 1 FROM pg_catalog.pg_stat_activity \
      WHERE pg_catalog.pg_backend_pid() = ANY(pg_catalog.pg_blocking_pids(pid))
      """
    ).rowCount > 0
  }

  @Test func `keys are allocated beside another program where transactions are serializable by default`() async throws {
    let store = try schema.open(
      PeopleModel.make(), url: url(setting: "default_transaction_isolation", to: "serializable"))
    try store.insert("Person")
    let other = try schema.administration()
    _ = try other.run(
      ["BEGIN", "UPDATE \(name: SQLSchema.keyTable) SET \(name: "next") = \(name: "next") + 1"], isPrepared: false)
    // More keys than the store has reserved for the first record.
    let task = Task.detached(executorPreference: ThreadExecutor()) {
      try store.allocateKeys(1000, for: store.entity("Person")).count
    }
    while try !isBlocking(other) { await Task.yield() }
    try other.run("COMMIT", isPrepared: false)
    let count = try await task.value
    #expect(count == 1000)
  }

  @Test func `records are inserted and changed where transactions are read-only by default`() throws {
    let store = try schema.open(PeopleModel.make(), url: url(setting: "default_transaction_read_only", to: "on"))
    let row = try store.insert("Person", ["name": .string("old")])
    try store.save(row.update(["name": .string("new")]))
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `a default with a backslash is added unchanged where a backslash begins an escape by default`() throws {
    let location = try url(setting: "standard_conforming_strings", to: "off")
    let store = try schema.open(PeopleModel.make(), url: location)
    try store.insert("Person")
    store.close()
    let model = try ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string, optional: true)
        Attribute("folder", .string, default: "C:\\new")
        Relationship("boss", toOne: "Person", inverse: "staff")
        Relationship("staff", toMany: "Person", inverse: "boss", ordered: true)
      }
    }
    let migrated = try schema.open(model, url: location)
    #expect(try migrated.fetch("Person").map { $0["folder"] } == [.string("C:\\new")])
  }

  @Test func `a schema with a backslash in its name is used where a backslash begins an escape by default`() throws {
    let name = schema.name + "\\n"
    let administration = try schema.administration()
    defer { _ = try? administration.run("DROP SCHEMA IF EXISTS \(name: name) CASCADE", isPrepared: false) }
    let store = try schema.open(
      PeopleModel.make(), url: url(setting: "standard_conforming_strings", to: "off"),
      options: [PostgreSQLOption.schema: .string(name)])
    let row = try store.insert("Person", ["name": .string("a")])
    #expect(try store.current(row)?["name"] == .string("a"))
    store.close()
  }
}
