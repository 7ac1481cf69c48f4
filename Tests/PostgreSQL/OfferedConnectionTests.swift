import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging
import TestSupport
import Testing

/// Saves over the connection that the unit of work has read with.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct OfferedConnectionTests {
  private let schema: TemporarySchema
  private let store: any PersistentStore

  init() throws {
    schema = try TemporarySchema()
    store = try schema.open(
      PeopleModel.make(), url: schema.url(with: ["application_name": schema.name]),
      options: [PostgreSQLOption.poolSize: 2, PostgreSQLOption.poolTimeout: 5])
  }

  /// Reads a row, runs a block, and saves over the connection of the reading.
  private func save(_ steps: SaveStep..., afterReading row: Row, then body: () throws -> Void = {}) throws {
    let reader = try #require(try store.makeReader() as? PostgreSQLReader)
    defer { reader.finish() }
    _ = try reader.row(row.key, of: row.entity.root)
    try body()
    #expect(reader.offerToSave())
    try store.save(StoreSaveRequest(steps: steps))
  }

  /// The connections of the store that the server has in a transaction.
  private func openTransactions() throws -> Int {
    try schema.administration().run(
      """
      SELECT 1 FROM pg_catalog.pg_stat_activity \
      WHERE application_name = \(text: schema.name) AND state LIKE 'idle in transaction%'
      """, isPrepared: false
    ).rowCount
  }

  @Test func `a save after a read is applied and ends the transaction of the read`() throws {
    let row = try store.insert("Person", ["name": .string("old")])
    try save(row.update(["name": .string("new")]), afterReading: row)
    #expect(try store.current(row)?["name"] == .string("new"))
    while try openTransactions() > 0 { continue }
  }

  @Test func `a reader that offers its connection for nothing leaves no transaction open`() throws {
    let row = try store.insert("Person")
    let reader = try #require(try store.makeReader() as? PostgreSQLReader)
    _ = try reader.row(row.key, of: row.entity)
    #expect(reader.offerToSave())
    reader.finish()
    while try openTransactions() > 0 { continue }
    // Both connections of the pool are free.
    try store.reading { reader in
      _ = try reader.row(row.key, of: row.entity)
      try store.save(row.update(["name": .string("new")]))
    }
  }

  @Test func `a save whose read is out of date meets a conflict, and not a failure of the server`() throws {
    let row = try store.insert("Person", ["name": .string("old")])
    let other = try schema.open(store.environment.model)
    let failure = #expect(throws: StoreConflict.Failure.self) {
      try save(row.update(["name": .string("mine")]), afterReading: row) {
        try other.save(row.update(["name": .string("theirs")]))
      }
    }
    #expect(failure?.conflicts.map(\.id) == [row.id])
    #expect(failure?.conflicts.first?.storeRow?["name"] == .string("theirs"))
    #expect(try store.current(row)?["name"] == .string("theirs"))
  }

  @Test func `a save based on a later version than the read is applied`() throws {
    let row = try store.insert("Person", ["name": .string("old")])
    let other = try schema.open(store.environment.model)
    let newer = row.changed(["name": .string("theirs")])
    try save(newer.update(["name": .string("mine")]), afterReading: row) {
      try other.save(row.update(["name": .string("theirs")]))
    }
    #expect(try store.current(row)?["name"] == .string("mine"))
    #expect(try store.current(row)?.version == 3)
  }

  @Test func `a fresh record may refer to a record inserted after the read`() throws {
    let row = try store.insert("Person")
    let other = try schema.open(store.environment.model)
    let boss = try store.row("Person")
    let fresh = try store.row("Person", ["boss": .reference(boss.id)])
    try save(.insert(row.entity, [fresh]), afterReading: row) { try other.save(.insert(row.entity, [boss])) }
    #expect(try store.current(fresh)?["boss"] == .reference(boss.id))
  }

  @Test func `a save that violates uniqueness names both records`() throws {
    let taken = try store.insert("Person", ["email": .string("taken")])
    let row = try store.insert("Person", ["email": .string("free")])
    let error = #expect(throws: CoherenceError.self) {
      try save(row.update(["email": .string("taken")]), afterReading: row)
    }
    #expect(error?.code == .uniquenessViolated)
    #expect(error?.objectIDs == [row.id, taken.id])
    #expect(try store.current(row)?["email"] == .string("free"))
  }

  @Test func `a connection that the server closes between the read and the save is replaced`() throws {
    let row = try store.insert("Person", ["name": .string("old")])
    try save(row.update(["name": .string("new")]), afterReading: row) { try schema.terminateConnections() }
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `a save inserts its session's missing row into the table of commits again`() throws {
    let row = try store.insert("Person", ["name": .string("old")])
    try schema.administration().run(
      "DELETE FROM \(name: schema.name).\(name: PostgreSQLCommitMark.table)", isPrepared: false)
    try save(row.update(["name": .string("one")]), afterReading: row)
    let second = try store.insert("Person")
    try store.save(
      row.changed(["name": .string("one")]).update(["name": .string("two")]), second.update(["name": .string("x")]))
    let rows = try schema.administration().run(
      "SELECT 1 FROM \(name: schema.name).\(name: PostgreSQLCommitMark.table)", isPrepared: false)
    #expect(rows.rowCount > 0)
    #expect(try store.current(row)?["name"] == .string("two"))
  }

  @Test func `a small unit of work sends three packets at the most`() throws {
    let proxy = try SocketProxy(to: schema.url)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: store.environment.model)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["host": proxy.directory.path]),
      options: [PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2])
    func change(_ person: ManagedObjectID, _ name: String) throws {
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        try context.existingObject(with: person).setValue(name, for: "name")
        try context.save()
      }
    }
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let person = try context.performAndWait {
      let person = try context.insertNewObject(forEntityName: "Person")
      try context.save()
      return person.objectID
    }
    try change(person, "first")
    func count() -> Int { proxy.links.reduce(0) { $0 + $1.messages } }
    // The proxy counts reads and may read one packet in two parts, so that the smallest of three counts is exact.
    let counts = try (0..<3).map { round in
      let before = count()
      for number in 0..<10 { try change(person, "\(round).\(number)") }
      return count() - before
    }
    #expect(try #require(counts.min()) <= 30)
  }
}
