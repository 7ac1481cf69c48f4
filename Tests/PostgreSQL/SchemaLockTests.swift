import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// A store is opened with a changed model while another program uses it.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct SchemaLockTests {
  private let schema: TemporarySchema
  /// The connection of the other program.
  private let other: PostgreSQLConnection

  init() throws {
    schema = try TemporarySchema()
    try schema.open(PeopleModel.make()).close()
    other = try schema.administration()
  }

  /// Opens the store with a model that has one more attribute.
  private func openExtended() throws -> any PersistentStore {
    try schema.open(PeopleModel.makeLater(), options: [PostgreSQLOption.schemaLockTimeout: 0.05])
  }

  /// Expects that a transaction of the other program, with a statement, keeps the store from being opened until the
  /// transaction ends.
  private func expectRefusal(during statement: SQLFragment) throws {
    _ = try other.run(["BEGIN", statement], isPrepared: false)
    let error = #expect(throws: CoherenceError.self) { try openExtended() }
    #expect(error?.code == .storeBusy)
    #expect(error?.isRetryable == true)
    #expect(error?.message.contains("'\(PostgreSQLOption.schemaLockTimeout)'") == true)
    #expect(error?.message.contains("'\(schema.name)'") == true)
    #expect((error?.underlying as? PostgreSQLFailure)?.sqlState == "55P03")
    try other.run("ROLLBACK", isPrepared: false)
    try openExtended().close()
  }

  @Test func `a change of the schema waits for a reader's open transaction no longer than its time limit`() throws {
    try expectRefusal(during: "SELECT 1 FROM \(name: "Person")")
  }

  @Test func `a change of the schema waits for another program's change no longer than its time limit`() throws {
    try expectRefusal(during: schemaLock)
  }

  @Test func `a store that needs no change is opened while another program changes the schema`() throws {
    // The opening removes the row.
    try other.insertExpiredCommit()
    _ = try other.run(["BEGIN", schemaLock], isPrepared: false)
    let store = try schema.open(PeopleModel.make(), options: [PostgreSQLOption.schemaLockTimeout: 0.05])
    try store.insert("Person")
    try other.run("ROLLBACK", isPrepared: false)
  }

  /// The statement with which a program begins to change the schema.
  private var schemaLock: SQLFragment {
    "SELECT pg_catalog.pg_advisory_xact_lock(\(key: PostgreSQLCatalog(other, schema: schema.name).advisoryLockKey))"
  }
}
