import Coherence
import CoherenceOutbox
import Foundation
import Synchronization
import Testing

@testable import Todo

/// Counts the operations of a stack by kind.
final class TodoCounts: StackObserver {
  private let counts = Mutex<[StackOperation.Kind: Int]>([:])

  func began(_ operation: StackOperation) -> any StackObservation {
    counts.withLock { $0[operation.kind, default: 0] += 1 }
    return Unobserved()
  }

  func scope() -> (any StackScope)? { nil }

  /// Returns the operations of a step, and prints them with its time.
  func measure(_ name: String, _ step: () async throws -> Void) async throws -> [StackOperation.Kind: Int] {
    counts.withLock { $0 = [:] }
    let start = ContinuousClock.now
    try await step()
    let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
    let counts = counts.withLock { $0 }
    let line = counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) \($0.key.rawValue)" }
    print("\(name): \(line.joined(separator: ", ")), \(String(format: "%.1f", milliseconds)) ms")
    return counts
  }

  private struct Unobserved: StackObservation {
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
    func ended(_ outcome: StackOutcome) {}
  }
}

@Suite("The costs of a to-do client", .timeLimit(.minutes(15)))
struct TodoCostTests {
  /// Measures the operations of the everyday steps of a client with a number of tasks.
  private func operations(_ count: Int, on store: TodoStore) async throws -> [[StackOperation.Kind: Int]] {
    let stage = try TodoStage(on: store, pageSize: 100_000)
    let list = stage.server.add(.lists, ["name": .text("Home")])
    let tags = (0..<10).map { stage.server.add(.tags, ["name": .text("Tag \($0)")]) }
    for number in 0..<count {
      let tags = TodoField.keys([tags[number % 10], tags[(number / 10 + 1) % 10]].sorted())
      let fields: [String: TodoField] = ["title": .text("Task \(number)"), "list": .int(list), "tags": tags]
      _ = stage.server.add(.tasks, fields)
    }
    let client = try await stage.client("first", by: DirectClient(server: stage.server))
    let counts = TodoCounts()
    client.connect.persistentStoreCoordinator.observer = counts
    let title = "\(store.rawValue), \(count) tasks"
    let first = try await counts.measure("\(title), the first refresh") { try await client.pull() }
    let screen = try await counts.measure("\(title), all lines") {
      let lines = try await client.lines()
      #expect(lines.count == count)
    }
    let id = try #require(
      try await client.connect.performBackgroundTask { context in
        try context.fetchIDs(FetchRequest(TodoTask.self).limit(1)).first
      })
    let edit = try await counts.measure("\(title), one edit") {
      try await client.change(id, as: TodoTask.self) { $0.isDone.toggle() }
    }
    try client.outbox.start()
    client.connectivity.isOnline = true
    let forward = try await counts.measure("\(title), forwarding of one edit") { try await client.outbox.flush() }
    // A search fetches the log twice, and the entries. The edit fetches its values, and the acknowledgement fetches the log
    // and the entries again; the first one also looks for expired confirmations with two fetches. The start, the network,
    // the flush, and the beginning of listening, twice, each request a search. One search may serve several requests.
    let searches = client.outbox.statistics.searches
    #expect(searches <= 5)
    #expect(forward[.fetch, default: 0] <= 3 * searches + 5 && forward[.save] == 3)
    // No late search counts in the next step.
    await client.outbox.stop()
    let pull = try await counts.measure("\(title), refresh of one change") { try await client.pull() }
    try await client.close()
    return [first, screen, edit, pull, forward]
  }

  @Test(arguments: TodoStore.available)
  func `the number of operations of everyday steps does not grow with the number of tasks`(
    store: TodoStore
  ) async throws {
    let few = try await operations(20, on: store)
    let many = try await operations(1000, on: store)
    // The number of the forwarder's searches varies, and with it the number of operations in the last step. The forwarder
    // runs in no other step.
    #expect(few.dropLast() == many.dropLast())
    #expect(many[1][.fetch] ?? 0 <= 3)
    #expect(many[2] == [.fetch: 1, .save: 1] || many[2] == [.save: 1])
  }

  @Test(arguments: TodoStore.available)
  func `10,000 pending edits are sent once each, in their order`(store: TodoStore) async throws {
    let stage = try TodoStage(on: store, pageSize: 100_000)
    let client = try await stage.client("first", by: DirectClient(server: stage.server))
    let counts = TodoCounts()
    client.connect.persistentStoreCoordinator.observer = counts
    let home = try await client.addList("Home")
    _ = try await counts.measure("\(store.rawValue), 10,000 inserts in 10 saves") {
      for part in 0..<10 {
        try await client.edit { context in
          let list = try context.existingObject(with: home) as? TodoList
          for number in 0..<1000 {
            let task = try TodoTask(context: context)
            task.title = "Task \(part * 1000 + number)"
            task.list = list
          }
        }
      }
    }
    #expect(try await client.outbox.counts().pending == 10_001)
    client.connectivity.isOnline = true
    try client.outbox.start(ForwardOptions(concurrency: 8))
    _ = try await counts.measure("\(store.rawValue), forwarding of 10,000 inserts") {
      let left = try await client.outbox.flush()
      #expect(left == 0)
    }
    let documents = stage.server.documents(.tasks)
    #expect(documents.count == 10_000)
    #expect(Set(documents.map(\.fields["title"])).count == 10_000)
    #expect(try await client.unsentRecords() == 0)
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `the edits of 64 concurrent tasks over two connections all reach the server`(store: TodoStore) async throws {
    let stage = try TodoStage(on: store, poolSize: 2)
    let client = try await stage.client("first", by: DirectClient(server: stage.server))
    try await client.start()
    client.connectivity.isOnline = true
    let home = try await client.addList("Home")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          let task = try await client.addTask("Task \(number)", to: home)
          try await client.change(task, as: TodoTask.self) { $0.isDone = true }
          #expect(try await client.lines().contains("Home: Task \(number) (done)"))
        }
      }
      try await group.waitForAll()
    }
    try await client.synchronize()
    #expect(stage.server.documents(.tasks).count == 64)
    #expect(stage.server.documents(.tasks).allSatisfy { $0.fields["isDone"] == .bool(true) })
    try await client.close()
  }
}
