import CoherenceCore
import CoherenceSQL
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CoherencePostgreSQL

/// Locks on records of a server, with the smallest pool there can be: one connection to read, one to save.
@Suite(.needsServer, .timeLimit(.minutes(10))) struct RowLockTests {
  private let schema: TemporarySchema
  private let coordinator: PersistentStoreCoordinator
  private let store: PostgreSQLStore

  init() throws {
    schema = try TemporarySchema()
    coordinator = try Self.coordinator(of: schema)
    store = try #require(coordinator.persistentStores.first as? PostgreSQLStore)
    for name in ["a", "b"] { try store.insert("Person", ["name": .string(name)]) }
  }

  private static func coordinator(of schema: TemporarySchema) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make())
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [
        PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2,
        PostgreSQLOption.statementTimeout: 40,
      ])
    return coordinator
  }

  private func inContext<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = ManagedObjectContext(coordinator: coordinator)
    return try context.performAndWait { try body(context) }
  }

  private static func person(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(
      try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Person")
          .filter(.comparison(.path(PropertyPath("name")), .equal, .value(.string(name))))
      ).first)
  }

  private func locking(_ name: String) -> SQLFragment {
    "SELECT 1 FROM \(name: "Person") WHERE \(name: "name") = \(text: name) FOR UPDATE NOWAIT"
  }

  @Test func `other sessions change other records, and read all of them`() throws {
    let session = try schema.administration()
    try inContext { context in
      let person = try Self.person("a", context)
      try context.withLock(on: [person]) {
        #expect(throws: CoherenceError.self) { try session.run(locking("a"), isPrepared: false) }
        try session.run(locking("b"), isPrepared: false)
        #expect(try session.run("SELECT COUNT(*) FROM \(name: "Person")", isPrepared: false).int(0, 0) == 2)
        try person.setValue("A", for: "email")
        try context.save()
        try session.run(locking("a"), isPrepared: false)
      }
    }
  }

  @Test func `many writers lock, read and save with the smallest pool`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<24 {
        group.addTask {
          let context = ManagedObjectContext(coordinator: coordinator)
          try await context.perform {
            let name = number % 3 == 0 ? "b" : "a"
            let person = try Self.person(name, context)
            try context.withLock(on: [person]) {
              let all = FetchRequest<ManagedObject>(entityName: "Person")
              let email = try person.value(for: "email", as: String?.self) ?? ""
              try person.setValue(email + name + (try context.fetch(all).count == 2 ? "" : "?"), for: "email")
              try context.insertNewObject(forEntityName: "Person").setObject(person, for: "boss")
              context.delete(try #require(try context.fetch(all).last { $0.objectID.isTemporaryID }))
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try inContext { context in
      let emails = try ["a", "b"].map { try Self.person($0, context).value(for: "email", as: String?.self) }
      #expect(emails == [String(repeating: "a", count: 16), String(repeating: "b", count: 8)])
    }
  }

  @Test func `of two nested locks in opposite orders, one fails with an error that permits another attempt`() throws {
    let locked = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
    let ended = DispatchSemaphore(value: 0)
    let outcomes = Mutex<[String]>([])
    /// Locks a person, waits until the other thread has locked the other person, and locks that person too.
    let work: @Sendable (Int) -> Void = { index in
      let names = index == 0 ? ["a", "b"] : ["b", "a"]
      let outcome: String
      do {
        try inContext { context in
          let people = try names.map { try Self.person($0, context) }
          try context.withLock(on: [people[0]]) {
            locked[index].signal()
            locked[1 - index].wait()
            try context.withLock(on: [people[1]]) {
              for (name, person) in zip(names, people) { try person.setValue("\(index)\(name)", for: "email") }
              try context.save()
            }
          }
        }
        outcome = "saved"
      } catch let error as CoherenceError {
        outcome = "\(error.code) \(error.isRetryable) \(error.outcome) \(error.message.contains("deadlock"))"
      } catch {
        outcome = "\(error)"
      }
      outcomes.withLock { $0.append(outcome) }
      ended.signal()
    }
    for index in 0..<2 { Thread.detachNewThread { work(index) } }
    for _ in 0..<2 { ended.wait() }
    #expect(outcomes.withLock { $0.sorted() } == ["saved", "storeBusy true notApplied true"])
  }

  /// Runs a batch request over the people with the name "b" under a lock on another person, while another session
  /// renames the person "b".
  ///
  /// - Parameter request: Runs the request, and returns the changed records.
  /// - Returns: The number of changed records.
  private func changedCount(
    _ request: @escaping @Sendable (ManagedObjectContext, FetchPredicate) throws -> [ManagedObjectID]
  ) throws -> Int {
    let isNamedB = FetchPredicate.comparison(.path(PropertyPath("name")), .equal, .value(.string("b")))
    let session = try schema.administration()
    try session.run("BEGIN", isPrepared: false)
    try session.run(
      """
      UPDATE \(name: "Person") SET \(name: "name") = 'c', \(name: SQLTable.version) = \(name: SQLTable.version) + 1 \
      WHERE \(name: "name") = 'b'
      """, isPrepared: false)
    let ended = DispatchSemaphore(value: 0)
    let outcome = Locked<Result<Int, any Error>?>(nil)
    Thread.detachNewThread {
      let result = Result {
        try inContext { context in
          try context.withLock(on: [try Self.person("a", context)]) { try request(context, isNamedB).count }
        }
      }
      outcome.withLock { $0 = result }
      ended.signal()
    }
    let waiting: SQLFragment = """
      SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: schema.name) AND wait_event_type = 'Lock'
      """
    let observer = try schema.administration()
    while try observer.run(waiting, isPrepared: false).rowCount == 0 { continue }
    try session.run("COMMIT", isPrepared: false)
    ended.wait()
    return try #require(outcome.withLock { $0 }).get()
  }

  @Test func `a batch update under a lock leaves out a record that another writer has changed meanwhile`() throws {
    let count = try changedCount { context, condition in
      try context.execute(
        BatchUpdateRequest(entityName: "Person", predicate: condition, values: ["email": "taken"]))
    }
    #expect(count == 0)
    #expect(try store.fetch("Person", where: .path("email", .equal, .string("taken"))).isEmpty)
  }

  @Test func `a batch delete under a lock leaves out a record that another writer has changed meanwhile`() throws {
    let count = try changedCount { context, condition in
      try context.execute(BatchDeleteRequest(entityName: "Person", predicate: condition))
    }
    #expect(count == 0)
    #expect(try store.fetch("Person", where: .path("name", .equal, .string("c"))).count == 1)
  }

  /// Locks a person, breaks the connection of the lock, and does some more work under the lock.
  ///
  /// - Returns: The error of the lock.
  private func failureOfBrokenLock(
    _ work: (ManagedObjectContext, ManagedObject) throws -> Void
  ) throws -> CoherenceError? {
    let context = ManagedObjectContext(coordinator: coordinator)
    do {
      try context.performAndWait {
        let person = try Self.person("a", context)
        try context.withLock(on: [person]) {
          try schema.terminateConnections()
          try work(context, person)
        }
      }
      return nil
    } catch let error as CoherenceError {
      return error
    }
  }

  @Test func `a lock whose connection breaks before the end of its block is reported`() throws {
    let error = try failureOfBrokenLock { _, _ in }
    #expect(error?.code == .connectionLost)
    #expect(error?.isRetryable == true)
    #expect(error?.outcome == .notApplied)
  }

  @Test func `a save under a lock whose connection is broken is not applied, and can be tried again`() throws {
    let error = try failureOfBrokenLock { context, person in
      try person.setValue("A", for: "email")
      try context.save()
    }
    #expect(error?.code == .connectionLost)
    #expect(error?.isRetryable == true)
    #expect(error?.outcome == .notApplied)
    #expect(try store.fetch("Person", where: .path("email", .equal, .string("A"))).count == 0)
  }

  @Test func `a commit that the server refuses ends the lock, and a later save in the block is applied`() throws {
    _ = try schema.administration().run(
      [
        """
        CREATE FUNCTION \(name: "refuse") () RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN RAISE EXCEPTION USING ERRCODE = ''restrict_violation''; END'
        """,
        """
        CREATE CONSTRAINT TRIGGER \(name: "refuse") AFTER INSERT ON \(name: "Person") \
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION \(name: "refuse") ()
        """,
      ], isPrepared: false)
    try store.excludingWriters {
      let error = #expect(throws: CoherenceError.self) { try store.insert("Person") }
      #expect(error?.outcome == .notApplied)
      #expect(store.pool.ownLocking == nil)
      let row = try #require(try store.fetch("Person").first)
      try store.save(row.update(["email": .string("new")]))
    }
    #expect(try store.fetch("Person", where: .path("email", .equal, .string("new"))).count == 1)
  }

  @Test func `a block that excludes other writers, inside of such a block, sends no statement`() throws {
    try store.excludingWriters {
      let connection = try #require(store.pool.ownLocking)
      _ = try connection.run("SELECT 4711", isPrepared: false)
      try store.excludingWriters { #expect(store.pool.ownLocking === connection) }
      let sessions: SQLFragment = """
        SELECT COUNT(*) FROM pg_catalog.pg_stat_activity \
        WHERE application_name = \(text: schema.name) AND query = \(text: "SELECT 4711")
        """
      #expect(try schema.administration().run(sessions, isPrepared: false).int(0, 0) == 1)
    }
  }

  @Test func `the timeout of a lock does not limit the statements after it`() throws {
    try inContext { context in
      let person = try Self.person("a", context)
      try context.withLock(on: [person], timeout: .milliseconds(700)) {
        let connection = try #require(store.pool.ownLocking)
        let limits = try connection.run(
          """
          SELECT (pg_catalog.current_setting('lock_timeout') = '0')::int4::int8, \
          (pg_catalog.current_setting('statement_timeout') = '40s')::int4::int8
          """, isPrepared: false)
        #expect(limits.int(0, 0) == 1)
        #expect(limits.int(0, 1) == 1)
      }
      #expect(store.pool.ownLocking == nil)
    }
  }

  @Test func `three thousand records are locked together and saved`() throws {
    try inContext { context in
      for number in 0..<3_000 {
        try context.insertNewObject(forEntityName: "Person").setValue("\(number)", for: "name")
      }
      try context.save()
      let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      try context.withLock(on: people) {
        for person in people { try person.setValue("x", for: "name") }
        try context.save()
      }
    }
    #expect(try store.fetch("Person", where: .path("name", .equal, .string("x"))).count == 3_002)
  }
}
