import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Dispatch
import Foundation
import TestSupport
import Testing

/// The opening of a store with another model, on a thread of its own.
private final class SchemaOpening: Sendable {
  private let name: String
  private let ended = DispatchSemaphore(value: 0)
  private let outcome = Locked<Result<Void, any Error>?>(nil)

  init(_ model: ManagedObjectModel, of schema: TemporarySchema) throws {
    name = schema.name
    // The server looks for a deadlock once in each wait. The test makes the deadlock within this time.
    let url = try schema.url(with: ["application_name": schema.name, "options": "-c deadlock_timeout=3s"])
    Thread.detachNewThread {
      let result = Result { try schema.open(model, url: url).close() }
      self.outcome.withLock { $0 = result }
      self.ended.signal()
    }
  }

  /// Waits until the opening waits for a lock, or ends.
  func waitUntilLocked(_ observer: PostgreSQLConnection) throws {
    let waiting: SQLFragment = """
      SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: name) AND wait_event_type = 'Lock'
      """
    while outcome.withLock({ $0 == nil }), try observer.run(waiting, isPrepared: false).rowCount == 0 { continue }
  }

  /// Waits for the end of the opening.
  func get() throws {
    ended.wait()
    try #require(outcome.withLock { $0 }).get()
  }
}

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

  /// A model of two entities, of which a change of the schema first changes `First`.
  private static func twoEntities(_ attributes: [String]) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      for name in ["First", "Second"] {
        Entity(name) { for attribute in attributes { Attribute(attribute, .string, optional: true) } }
      }
    }
  }

  @Test func `a change of the schema that meets a deadlock with a writer is made after the writer's transaction`()
    throws
  {
    let schema = try TemporarySchema()
    try schema.open(Self.twoEntities(["name"])).close()
    let (writer, observer) = (try schema.administration(), try schema.administration())
    // The server ends the transaction that looks for a deadlock first.
    _ = try writer.run(["BEGIN", "SET LOCAL deadlock_timeout = '1h'", Self.writing("Second")], isPrepared: false)
    let opening = try SchemaOpening(Self.twoEntities(["name", "title"]), of: schema)
    try opening.waitUntilLocked(observer)
    // The change has the table that comes first, and waits for the other one.
    try writer.run(Self.writing("First"), isPrepared: false)
    try writer.run("COMMIT", isPrepared: false)
    try opening.get()
  }

  @Test func `a change of the schema meets deadlocks with writers one after the other, and is made after them`() throws
  {
    let schema = try TemporarySchema()
    try schema.open(Self.twoEntities(["name"])).close()
    let (writer, observer) = (try schema.administration(), try schema.administration())
    _ = try writer.run(
      ["BEGIN", "SET LOCAL deadlock_timeout = '1h'", Self.writing("Second"), "SAVEPOINT s"], isPrepared: false)
    let opening = try SchemaOpening(Self.twoEntities(["name", "title"]), of: schema)
    // More deadlocks than a save survives.
    for _ in 0..<5 {
      try opening.waitUntilLocked(observer)
      _ = try writer.run([Self.writing("First"), "ROLLBACK TO SAVEPOINT s"], isPrepared: false)
    }
    try writer.run("COMMIT", isPrepared: false)
    try opening.get()
  }

  @Test func `a change of the schema locks tables in the order of saves`() throws {
    func model(isLater: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel {
        Entity("Album") {
          Attribute("length", .int64, derived: .sum("tracks.length"))
          Relationship("tracks", toMany: "Track", inverse: "album")
        }
        Entity("Track", uniqueness: isLater ? [["number"]] : []) {
          Attribute("length", .int64, default: 1)
          Attribute("number", .int64, optional: true)
          if isLater { Attribute("title", .string, optional: true) }
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
      }
    }
    let schema = try TemporarySchema()
    try schema.open(model(isLater: false)).close()
    let (writer, observer) = (try schema.administration(), try schema.administration())
    // As a save of an album begins.
    _ = try writer.run(["BEGIN", Self.writing("Album")], isPrepared: false)
    let opening = try SchemaOpening(model(isLater: true), of: schema)
    try opening.waitUntilLocked(observer)
    let locks = try observer.run(
      """
      SELECT 1 FROM pg_catalog.pg_locks WHERE granted AND mode = 'ShareRowExclusiveLock' \
      AND relation = pg_catalog.to_regclass(\(text: "\"Track\""))
      """, isPrepared: false)
    // The save could wait for the lock, and the change waits for the save.
    #expect(locks.rowCount == 0)
    try writer.run("COMMIT", isPrepared: false)
    try opening.get()
  }

  @Test func `a change of the schema computes derived values from the records of a writer that it waits for`() throws {
    func model(_ attributes: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel {
        Entity("Album") {
          Attribute("length", .int64, derived: .sum("tracks.length"))
          Relationship("tracks", toMany: "Track", inverse: "album")
        }
        Entity("Track") {
          Attribute("length", .int64, default: 1)
          for attribute in attributes { Attribute(attribute, .string, optional: true) }
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
      }
    }
    let schema = try TemporarySchema()
    let store = try schema.open(model([]))
    try store.insert("Track", ["album": .reference(try store.insert("Album").id)])
    store.close()
    // The next opening of the store by the first model computes the values anew.
    try schema.open(model(["title"])).close()
    let (writer, observer) = (try schema.administration(), try schema.administration())
    try writer.run("BEGIN", isPrepared: false)
    for table in ["Track", "Album"] {
      #expect(try writer.run("UPDATE \(name: table) SET \(name: "length") = 50", isPrepared: false).affectedCount == 1)
    }
    let opening = try SchemaOpening(model([]), of: schema)
    try opening.waitUntilLocked(observer)
    try writer.run("COMMIT", isPrepared: false)
    try opening.get()
    let lengths = try observer.run("SELECT \(name: "length") FROM \(name: "Album")", isPrepared: false).integers
    #expect(lengths == [50])
  }

  /// The statement with which a writer locks a table.
  private static func writing(_ table: String) -> SQLFragment { "LOCK TABLE \(name: table) IN ROW EXCLUSIVE MODE" }

  /// The statement with which a program begins to change the schema.
  private var schemaLock: SQLFragment {
    "SELECT pg_catalog.pg_advisory_xact_lock(\(key: PostgreSQLCatalog(other, schema: schema.name).advisoryLockKey))"
  }
}
