import CoherenceCore
import CoherenceSQL
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CoherencePostgreSQL

/// The order in which saves lock the rows that they change.
@Suite(.needsServer, .timeLimit(.minutes(5))) struct RowOrderTests {
  private let schema: TemporarySchema
  private let store: PostgreSQLStore
  private let context: ManagedObjectContext
  private let keys: [Int64]

  init() throws {
    schema = try TemporarySchema()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make())
    let attached = try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [PostgreSQLOption.schema: .string(schema.name)])
    store = try #require(attached as? PostgreSQLStore)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let context = context
    keys = try context.performAndWait {
      let people = try (0..<2).map { _ in try context.insertNewObject(forEntityName: "Person") }
      try context.save()
      return people.map(\.objectID.key).sorted()
    }
  }

  /// The number of rows that a session can lock at once.
  private func lock(_ key: Int64, in session: PostgreSQLConnection, waits: Bool) throws -> Int {
    let rest: SQLFragment = waits ? "FOR UPDATE" : "FOR UPDATE SKIP LOCKED"
    return try session.run(
      "SELECT 1 FROM \(name: "Person") WHERE \(name: SQLTable.id) = \(key: key) \(rest)", isPrepared: false
    ).rowCount
  }

  /// Changes the row with the greater key, then another property of the row with the smaller key, and saves.
  ///
  /// - Parameter locksOthers: Whether the save is made under a lock on the records of other people.
  private func save(locksOthers: Bool) throws {
    try context.performAndWait {
      let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      let others = people.filter { !keys.contains($0.objectID.key) }
      try context.withLock(on: locksOthers ? others : []) {
        for (key, property) in zip(keys.reversed(), ["name", "email"]) {
          try people.first { $0.objectID.key == key }?.setValue(UUID().uuidString, for: property)
        }
        try context.save()
      }
    }
  }

  /// Runs a block while a save waits for the row with the smaller key.
  ///
  /// - Parameters:
  ///   - locksOthers: Whether the save is made under a lock on the records of other people.
  ///   - body: Receives the session that has locked the row. The lock ends after the block.
  /// - Throws: The error of the save.
  private func whileSaveWaits<T>(
    for holder: PostgreSQLConnection, locksOthers: Bool = false, _ body: (PostgreSQLConnection) throws -> T
  ) throws -> T {
    #expect(try lock(keys[0], in: holder, waits: true) == 1)
    let ended = DispatchSemaphore(value: 0)
    let outcome = Locked<Result<Void, any Error>?>(nil)
    Thread.detachNewThread {
      let result = Result { try save(locksOthers: locksOthers) }
      outcome.withLock { $0 = result }
      ended.signal()
    }
    let waiting: SQLFragment = """
      SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: schema.name) AND wait_event_type = 'Lock'
      """
    let observer = try schema.administration()
    while try observer.run(waiting, isPrepared: false).rowCount == 0 { continue }
    let result = try body(holder)
    try holder.run("COMMIT", isPrepared: false)
    ended.wait()
    try #require(outcome.withLock { $0 }).get()
    return result
  }

  /// Whether a session can lock the row with the greater key while a save waits for the other row.
  private func isSecondRowFree() throws -> Bool {
    let (holder, other) = (try schema.administration(), try schema.administration())
    try holder.run("BEGIN", isPrepared: false)
    return try whileSaveWaits(for: holder) { _ in try lock(keys[1], in: other, waits: false) == 1 }
  }

  @Test func `a save locks its rows in the order of their keys, after a save of the store has met a deadlock`() throws {
    #expect(try !isSecondRowFree())
    store.pool.saveLocking.require()
    #expect(try isSecondRowFree())
  }

  @Test func `a deadlock of a save is noted, and the save is repeated`() throws {
    let holder = try schema.administration()
    try holder.run("BEGIN", isPrepared: false)
    // The server ends the transaction that looks for a deadlock first.
    try holder.run("SET LOCAL deadlock_timeout = '1h'", isPrepared: false)
    let count = try whileSaveWaits(for: holder) { try lock(keys[1], in: $0, waits: true) }
    #expect(count == 1)
    #expect(store.pool.saveLocking.isRequired)
  }

  @Test func `a deadlock of a save under a lock is noted`() throws {
    try context.performAndWait {
      _ = try context.insertNewObject(forEntityName: "Person")
      try context.save()
    }
    let holder = try schema.administration()
    try holder.run("BEGIN", isPrepared: false)
    // The server ends the transaction that looks for a deadlock first.
    try holder.run("SET LOCAL deadlock_timeout = '1h'", isPrepared: false)
    let error = #expect(throws: CoherenceError.self) {
      _ = try whileSaveWaits(for: holder, locksOthers: true) { try lock(keys[1], in: $0, waits: true) }
    }
    #expect(error?.code == .storeBusy)
    #expect(store.pool.saveLocking.isRequired)
  }
}
