import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct ConnectionTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  private func url(_ changes: [String: String]) throws -> URL { try schema.url(with: changes) }

  private func failure(at url: URL?, options: [String: OptionValue] = [:]) throws -> CoherenceError? {
    let model = try PeopleModel.make()
    return #expect(throws: CoherenceError.self) { try schema.open(model, url: url, options: options) }
  }

  @Test func `a server that does not respond is unreachable`() throws {
    let error = try failure(at: url(["host": "/nowhere"]))
    #expect(error?.code == .serverUnreachable)
    #expect(error?.isRetryable == true)
    #expect(error?.message.contains("/nowhere") == true)
  }

  @Test func `a database that does not exist is named inaccessible`() throws {
    #expect(try failure(at: url(["dbname": "coherence_has_no_such_database"]))?.code == .storeInaccessible)
  }

  @Test func `a store needs a location`() throws {
    let model = try PeopleModel.make()
    var environment = schema.environment(model)
    for url in [nil, URL(string: "https://example.com")] {
      environment.url = url
      let error = #expect(throws: CoherenceError.self) { try PostgreSQLStoreFactory().open(environment) }
      #expect(error?.code == .storeInaccessible)
    }
  }

  @Test(arguments: [
    "postgresql://user:can@ary@localhost/db", "postgresql://user:can/ary@localhost/db",
    "postgresql://user:can%zzary@h/db",
    "host=localhost password=canary port=canary", "password='canary",
  ])
  func `a connection string with a fault is refused without its password`(_ text: String) throws {
    let error = try failure(at: nil, options: [PostgreSQLOption.connectionString: .string(text)])
    #expect(error?.code == .invalidOption)
    #expect(error?.description.contains("ary") == false)
  }

  @Test func `options are checked`() throws {
    for (name, value) in [
      (PostgreSQLOption.poolSize, 1), (PostgreSQLOption.poolTimeout, "long"), (PostgreSQLOption.schema, ""),
      (PostgreSQLOption.statementTimeout, -1), (PostgreSQLOption.schemaLockTimeout, -1),
      (PostgreSQLOption.connectionString, 5), (PostgreSQLOption.poolSize, 1001),
      (PostgreSQLOption.poolTimeout, 86_401), (PostgreSQLOption.statementTimeout, 86_400.5),
      (PostgreSQLOption.schema, "$user"), (PostgreSQLOption.schema, "information_schema"),
      (PostgreSQLOption.schema, "pg_notes"), (PostgreSQLOption.schema, .string(String(repeating: "a", count: 64))),
    ] as [(String, OptionValue)] {
      let error = try failure(at: nil, options: [name: value])
      #expect(error?.code == .invalidOption)
      #expect(error?.message.contains(name) == true)
    }
  }

  @Test func `a wrong password is refused and never shown`() throws {
    let administration = try schema.administration()
    let guarded = try administration.run(
      "SELECT 1 FROM pg_catalog.pg_hba_file_rules WHERE '+coherence_password' = ANY(user_name)", isPrepared: false)
    // Only a server started by `Tools/postgres` requires a password.
    guard guarded.rowCount > 0 else { return }
    let role = schema.name
    let group = try administration.run(
      "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = 'coherence_password'", isPrepared: false)
    if group.rowCount == 0 { try administration.run("CREATE ROLE coherence_password", isPrepared: false) }
    try administration.run(
      "CREATE ROLE \(name: role) LOGIN PASSWORD 'right' IN ROLE coherence_password", isPrepared: false)
    defer { _ = try? administration.run("DROP ROLE \(name: role)", isPrepared: false) }

    let log = MessageLog()
    for password in ["canary-in-the-mine", nil] {
      var environment = schema.environment(
        try PeopleModel.make(), url: try url(["user": role, "password": password ?? ""]))
      environment.logger = log.logger
      let error = #expect(throws: CoherenceError.self) { try PostgreSQLStoreFactory().open(environment) }
      #expect(error?.code == .authenticationFailed)
      #expect(error.map { "\($0) \($0.underlying.map { "\($0)" } ?? "")".contains("canary") } == false)
    }
    #expect(!log.messages.contains { $0.contains("canary") })
  }

  @Test func `statements are logged without values`() throws {
    let log = MessageLog()
    var environment = schema.environment(try PeopleModel.make())
    environment.logger = log.logger
    let store = try PostgreSQLStoreFactory().open(environment)
    let row = try store.insert("Person", ["name": .string("canary")])
    _ = try store.fetch("Person", where: .path("name", .equal, .string("canary")))
    _ = try store.current(row)
    #expect(log.messages.contains { $0.contains("INSERT INTO") })
    #expect(log.messages.contains { $0.contains("SELECT") })
    #expect(!log.messages.contains { $0.contains("canary") })
  }

  @Test func `readers beyond the pool wait in vain, and saves do not`() throws {
    let store = try schema.open(
      PeopleModel.make(), options: [PostgreSQLOption.poolSize: 3, PostgreSQLOption.poolTimeout: 0.2])
    let query = StoreQuery(entity: store.entity("Person"))
    let readers = try (0..<3).map { _ in try store.makeReader() }
    for reader in readers.prefix(2) { #expect(try reader.count(query) == 0) }
    let error = #expect(throws: CoherenceError.self) { try readers[2].count(query) }
    #expect(error?.code == .tooManyConnections)
    #expect(error?.isRetryable == true)
    try store.insert("Person")
    readers[0].finish()
    #expect(try store.fetch("Person").count == 1)
    for reader in readers.dropFirst() { reader.finish() }
  }

  @Test(.timeLimit(.minutes(5)))
  func `the server receives the beginning of a large batch before the batch is complete`() throws {
    let connection = try schema.administration()
    let text = String(repeating: "x", count: 8 << 20)
    let name: SQLFragment = "\(text: schema.name) || pg_catalog.right(\(text: text), 1)"
    let statement: SQLFragment = "SELECT pg_catalog.set_config('application_name', \(name), false)"
    try connection.send(statement.rendered(by: PostgreSQLDialect()))
    let witness = try schema.administration()
    while try witness.run(
      "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: "\(schema.name)x")"
    ).rowCount == 0 {}
    try connection.synchronize()
    _ = try connection.receiveLast()
  }

  @Test func `a connection that the server closed is replaced`() throws {
    let store = try schema.openNamed(PeopleModel.make())
    try store.insert("Person")
    try schema.terminateConnections()
    #expect(try store.fetch("Person").count == 1)
    try store.insert("Person")
    #expect(try store.fetch("Person").count == 2)
  }

  @Test func `a connection that the server closed after a read is replaced`() throws {
    let store = try schema.openNamed(PeopleModel.make())
    let row = try store.insert("Person", ["name": .string("old")])
    #expect(try store.fetch("Person").count == 1)
    try schema.terminateConnections()
    #expect(try store.current(row)?["name"] == .string("old"))
    try schema.terminateConnections()
    try store.save(row.update(["name": .string("new")]))
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `a reader fails with its connection, and the next reader succeeds`() throws {
    let store = try schema.openNamed(PeopleModel.make())
    let reader = try store.makeReader()
    let query = StoreQuery(entity: store.entity("Person"))
    _ = try reader.count(query)
    try schema.terminateConnections()
    let error = #expect(throws: CoherenceError.self) { try reader.count(query) }
    #expect(error?.code == .connectionLost)
    #expect(error?.isRetryable == true)
    reader.finish()
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `a read fails once after a session has lost its prepared statements, and the next read succeeds`() throws {
    let store = try schema.open(PeopleModel.make())
    let row = try store.insert("Person", ["name": .string("x")])
    // The connection keeps the statement prepared.
    #expect(try store.current(row)?["name"] == .string("x"))
    let pool = try #require(store as? PostgreSQLStore).pool
    // A pooler that gives the connection another session has the same effect.
    try pool.withConnection(for: .reading) { _ = try $0.run("DEALLOCATE ALL", isPrepared: false) }
    let error = #expect(throws: CoherenceError.self) { try store.current(row) }
    #expect(error?.isRetryable == true)
    #expect(try store.current(row)?["name"] == .string("x"))
  }
}
