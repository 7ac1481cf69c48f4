import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// Pinned snapshots with the smallest pool there can be: one connection to read, one to save.
@Suite(.needsServer) struct PinnedSnapshotTests {
  private let schema: TemporarySchema
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    schema = try TemporarySchema()
    coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make())
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [
        PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2, PostgreSQLOption.poolTimeout: 20,
      ])
  }

  private func context() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  private func add(_ name: String) async throws {
    try await context().perform { context in
      try context.insertNewObject(forEntityName: "Person").setValue(name, for: "name")
      try context.save()
    }
  }

  private func count(in context: ManagedObjectContext) async throws -> Int {
    try await context.perform { try $0.count(for: FetchRequest<ManagedObject>(entityName: "Person")) }
  }

  /// The number of open connections of the store.
  private func connectionCount() throws -> Int {
    try schema.administration().run(
      "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: schema.name)", isPrepared: false
    ).rowCount
  }

  @Test func `two tasks with pinned snapshots starve neither each other nor other readers and savers`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<2 {
        group.addTask {
          let context = self.context()
          for round in 0..<20 {
            try await context.perform { try round == 0 ? $0.pinSnapshot() : $0.advanceSnapshot() }
            let known = try await self.count(in: context)
            try await self.add("\(task).\(round)")
            #expect(try await self.count(in: context) == known)
            #expect(try await self.count(in: self.context()) > known)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await count(in: context()) == 40)
  }

  @Test func `savers and readers do not wait for snapshots and streams, however many have connections`() async throws {
    let contexts = (0..<32).map { _ in context() }
    for (number, context) in contexts.enumerated() {
      try await context.perform { try $0.pinSnapshot() }
      try await add("\(number)")
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, context) in contexts.enumerated() {
        group.addTask {
          for _ in 0..<3 { #expect(try await self.count(in: context) == number) }
          try await self.add("of \(number)")
        }
      }
      try await group.waitForAll()
    }
    #expect(try await count(in: context()) == 64)
  }

  @Test func `the end of a snapshot returns its connection, and the pool keeps no more than its size`() async throws {
    try await add("first")
    let contexts = (0..<8).map { _ in context() }
    for context in contexts { try await context.perform { try $0.pinSnapshot() } }
    #expect(try connectionCount() >= 8)
    for context in contexts { try await context.perform { $0.unpinSnapshot() } }
    // A connection ends after the server has noticed that it was closed.
    while try connectionCount() > 2 { await Task.yield() }
    #expect(try await count(in: context()) == 1)
  }

  @Test func `a snapshot whose link breaks throws, and moves forward over another connection`() async throws {
    try await add("first")
    let context = context()
    try await context.perform { try $0.pinSnapshot() }
    try schema.terminateConnections()
    await #expect {
      _ = try await count(in: context)
    } throws: {
      ErrorCode.connectionLost ~= $0
    }
    try await context.perform { try $0.advanceSnapshot() }
    #expect(try await count(in: context) == 1)
  }

  @Test func `a store whose records a snapshot has read is detached and its schema dropped at once`() async throws {
    try await add("first")
    let contexts = (0..<4).map { _ in context() }
    for context in contexts { try await context.perform { try $0.pinSnapshot() } }
    try coordinator.remove(coordinator.persistentStores[0])
    // The lock waits for the end of each transaction that has read the table.
    _ = try schema.administration().run(
      [
        "SET lock_timeout = '30s'", "BEGIN",
        "LOCK TABLE \(name: schema.name).\(name: "Person") IN ACCESS EXCLUSIVE MODE", "ROLLBACK",
      ], isPrepared: false)
    withExtendedLifetime(contexts) {}
  }
}
