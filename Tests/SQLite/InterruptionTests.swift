import CoherenceCore
import CoherenceSQLite
import Foundation
import TestSupport
import Testing

@Suite struct InterruptionTests {
  private let place: TemporaryStore
  private let store: any PersistentStore

  init() throws {
    place = try TemporaryStore()
    store = try place.open(try Self.people())
    let people = try (0..<60).map { try store.row("Person", ["name": .string("\($0)")]) }
    let links = people.flatMap { a in people.map { Link(source: a.key, target: $0.key) } }
    guard case .links(let table, _) = store.entity("Person").relationship(named: "friends")!.storage else { return }
    try store.save(StoreSaveRequest(steps: [.insert(store.entity("Person"), people), .link(table, links)]))
  }

  private static func people() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Relationship("friends", toMany: "Person", inverse: "friends")
      }
    }
  }

  /// A condition on a nonexistent chain of friends. Evaluating it would take SQLite longer than a day.
  private var endless: StoreQuery {
    var predicate: FetchPredicate = .path("name", .equal, .string("nobody"))
    for _ in 0..<5 { predicate = .quantified(.any, PropertyPath("friends"), predicate) }
    return StoreQuery(entity: store.entity("Person"), predicate: predicate)
  }

  @Test func `a cancelled task interrupts its running statement and no later one`() async throws {
    let reader = try Unchecked(store.makeReader())
    let query = endless
    let task = Task.detached { [store] in
      let error = #expect(throws: CoherenceError.self) { try reader.value.fetch(query) }
      #expect(error?.code == .cancelled)
      return try await Task.detached {
        // The same reader, in a task without a cancellation.
        try reader.value.count(StoreQuery(entity: store.entity("Person")))
      }.value
    }
    // The interruption may come before or during the statement. SQLite checks for it in both cases.
    task.cancel()
    #expect(try await task.value == 60)
  }

  /// SQLite asks about the task's cancellation several times in a statement of that length.
  @Test func `a long statement of a task without a cancellation runs to its end`() throws {
    var predicate: FetchPredicate = .path("name", .equal, .string("nobody"))
    for _ in 0..<2 { predicate = .quantified(.any, PropertyPath("friends"), predicate) }
    #expect(try store.fetch(StoreQuery(entity: store.entity("Person"), predicate: predicate)).isEmpty)
  }

  @Test func `a save that meets the transaction of another program ends with the cancellation of its task`()
    async throws
  {
    // A day is the longest time that a connection waits for other programs. The first store of a file decides about it.
    let place = try TemporaryStore()
    let store = try place.open(try Self.people(), options: [SQLiteOption.busyTimeout: 86_400])
    let row = try store.row("Person", ["name": .string("late")])
    let other = try OtherProgram(place.path, keepsTransactions: true)
    try other.run("BEGIN IMMEDIATE")
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let error = #expect(throws: CoherenceError.self) {
        try store.save(StoreSaveRequest(steps: [.insert(row.entity, [row])]))
      }
      #expect(error?.code == .cancelled)
      #expect(error?.outcome == .notApplied)
    }.value
    try other.run("ROLLBACK")
    #expect(try store.fetch(StoreQuery(entity: row.entity)).isEmpty)
    try store.save(StoreSaveRequest(steps: [.insert(row.entity, [row])]))
    #expect(try store.fetch(StoreQuery(entity: row.entity)).count == 1)
    try other.close()
  }

  @Test func `a fetch in perform is interrupted in the store`() async throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: store.environment.model)
    try coordinator.addPersistentStore(StoreConfiguration(type: .sqlite), at: place.url)
    let context = ManagedObjectContext(coordinator: coordinator)
    let begun = AsyncStream<Void>.makeStream()
    let predicate = endless.predicate
    let task = Task {
      try await context.perform {
        begun.continuation.yield()
        var request = FetchRequest<ManagedObject>(entityName: "Person")
        request.predicate = predicate
        return try context.fetch(request).count
      }
    }
    for await _ in begun.stream { break }
    task.cancel()
    let error = await #expect(throws: CoherenceError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(
      try await context.perform { try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).count } == 60)
  }
}

/// A value that moves from task to task, with one user at a time.
private struct Unchecked<Value>: @unchecked Sendable {
  // Sendable: the test's tasks wait for each other.
  let value: Value
  init(_ value: Value) { self.value = value }
}
