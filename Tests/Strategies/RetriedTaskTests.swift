import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Retried background tasks", .timeLimit(.minutes(5)))
struct RetriedTaskTests {
  /// A policy without delays.
  private static func atOnce(_ attempts: Int = 5) -> RetryPolicy {
    RetryPolicy(attempts: attempts, initialDelay: .zero)
  }

  private static let conflict = CoherenceError(.versionConflict, "A conflict.")

  // MARK: Races

  @Test(arguments: Backend.available)
  func `increments of one record by 64 retried tasks end with the exact count`(backend: Backend) async throws {
    let stack = try CounterStack(on: backend)
    let id = try stack.add("a")
    let policy = RetryPolicy(
      attempts: 2_000, initialDelay: .milliseconds(1), maximumDelay: .milliseconds(20), jitter: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<64 {
        group.addTask {
          try await stack.container.performBackgroundTask(retrying: policy) { context, _ in
            try context.counter(id).count += 1
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try stack.count(id) == 64)
  }

  @Test(arguments: Backend.available)
  func `increments under a lock by 64 tasks need one attempt each`(backend: Backend) async throws {
    let stack = try CounterStack(on: backend)
    let id = try stack.add("a")
    let attempts = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<64 {
        group.addTask {
          try await stack.container.performBackgroundTask(retrying: .lostRaces) { context, attempt in
            let counter = try context.counter(id)
            try context.withLock(on: [counter]) {
              counter.count += 1
              try context.save()
            }
            return attempt
          }
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(try stack.count(id) == 64)
    #expect(attempts == 64)
  }

  @Test(arguments: Backend.available)
  func `a task that loses a race runs again in a new context with the saved state`(backend: Backend) async throws {
    let stack = try CounterStack(on: backend)
    let id = try stack.add("a")
    let contexts = Mutex<[ObjectIdentifier]>([])
    let kept = Mutex<[BackgroundContext]>([])
    let attempts = try await stack.container.performBackgroundTask(retrying: Self.atOnce()) { context, attempt in
      contexts.withLock { $0.append(ObjectIdentifier(context)) }
      kept.withLock { $0.append(context) }
      let counter = try context.counter(id)
      counter.count += 10
      if attempt < 3 { try stack.increment(id) }
      return attempt
    }
    #expect(attempts == 3)
    #expect(try stack.count(id) == 12)
    #expect(contexts.withLock { Set($0).count } == 3)
  }

  @Test(arguments: Backend.available)
  func `a task that finds or inserts runs again after another writer inserted`(backend: Backend) async throws {
    let stack = try CounterStack(on: backend)
    let attempts = try await stack.container.performBackgroundTask(retrying: Self.atOnce()) { context, attempt in
      let known = try context.counters(named: "a").first
      if attempt == 1 { try stack.add("a") }
      let counter = try known ?? Counter(context: context)
      counter.name = "a"
      counter.count += 5
      return attempt
    }
    #expect(attempts == 2)
    let count = try await stack.container.performBackgroundTask { try $0.counters(named: "a").map(\.count) }
    #expect(count == [5])
  }

  @Test func `a task that violates a constraint by itself runs twice`() async throws {
    let stack = try CounterStack(on: .inMemory)
    try stack.add("a")
    let calls = Atomic<Int>(0)
    await #expect(throws: CoherenceError.self) {
      try await stack.container.performBackgroundTask(retrying: Self.atOnce()) { context, _ in
        calls.add(1, ordering: .relaxed)
        try Counter(context: context).name = "a"
      }
    }
    #expect(calls.load(ordering: .relaxed) == 2)
  }

  @Test func `the view shows the changes of a retried task`() async throws {
    let stack = try CounterStack(on: .inMemory)
    try await stack.container.performBackgroundTask(retrying: .lostRaces) { context, _ in
      try Counter(context: context).name = "a"
    }
    let names = try await stack.container.viewContext.perform { view in
      try view.fetch(FetchRequest<Counter>(entityName: "Counter")).map(\.name)
    }
    #expect(names == ["a"])
  }

  // MARK: Limits

  @Test func `after the last attempt of the policy the task throws the error of that attempt`() async throws {
    let stack = try CounterStack(on: .inMemory)
    let error = await #expect(throws: CoherenceError.self) {
      try await stack.container.performBackgroundTask(retrying: Self.atOnce(3)) { _, attempt in
        throw CoherenceError(.versionConflict, "\(attempt)")
      }
    }
    #expect(error?.message == "3")
    #expect(error?.isRetryable == false)
  }

  @Test func `a policy can refuse further attempts`() async throws {
    let stack = try CounterStack(on: .inMemory)
    let policy = RetryPolicy(attempts: 5, initialDelay: .zero) { ($0 as? CoherenceError)?.code != .versionConflict }
    let error = await #expect(throws: CoherenceError.self) {
      try await stack.container.performBackgroundTask(retrying: policy) { _, attempt in
        throw CoherenceError(attempt == 1 ? .storeBusy : .versionConflict, "\(attempt)", isRetryable: attempt == 1)
      }
    }
    #expect(error?.message == "2")
  }

  /// An error that asks for a delay.
  private struct Busy: RetryAdvising {
    func retryDelay(at now: Date) -> Duration? { .milliseconds(40) }
  }

  @Test func `an error can ask for a longer delay than that of the policy`() async throws {
    let stack = try CounterStack(on: .inMemory)
    let beginning = ContinuousClock.now
    let attempts = try await stack.container.performBackgroundTask(retrying: Self.atOnce()) { _, attempt in
      if attempt == 1 { throw CoherenceError(.storeBusy, "Busy.", underlying: Busy(), isRetryable: true) }
      return attempt
    }
    #expect(attempts == 2)
    #expect(beginning.duration(to: .now) >= .milliseconds(40))
  }

  @Test func `a task cancelled between two attempts ends without another attempt`() async throws {
    let stack = try CounterStack(on: .inMemory)
    let calls = Atomic<Int>(0)
    let policy = RetryPolicy(attempts: 5, initialDelay: .seconds(3600), jitter: 0) { _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return true
    }
    let task = Task {
      try await stack.container.performBackgroundTask(retrying: policy) { _, _ in
        calls.add(1, ordering: .relaxed)
        throw Self.conflict
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(calls.load(ordering: .relaxed) == 1)
  }

  // MARK: Never repeated

  /// The number of calls of a block that fails in each attempt, and its error.
  private func calls(
    in stack: CounterStack, _ body: @escaping @Sendable (BackgroundContext) throws -> Void
  ) async -> (count: Int, error: (any Error)?) {
    let calls = Atomic<Int>(0)
    do {
      try await stack.container.performBackgroundTask(retrying: Self.atOnce()) { context, _ in
        calls.add(1, ordering: .relaxed)
        try body(context)
      }
      return (calls.load(ordering: .relaxed), nil)
    } catch {
      return (calls.load(ordering: .relaxed), error)
    }
  }

  @Test(arguments: Backend.available)
  func `a save whose outcome is unknown is not repeated`(backend: Backend) async throws {
    let plain = backend.configuration(named: "unused").type
    let type = try FailingStore.type(over: plain, isRetryable: true) { _ in .lossAfterSave }
    let stack = try CounterStack(on: backend, type: type)
    let (count, error) = await calls(in: stack) { try Counter(context: $0).name = "a" }
    #expect(count == 1)
    #expect((error as? CoherenceError)?.outcome == .unknown)
    let saved = try await stack.container.performBackgroundTask { try $0.counters(named: "a").count }
    #expect(saved == 1)
  }

  @Test func `an unknown outcome that the block hides is not repeated`() async throws {
    let type = try FailingStore.type(over: .inMemory, isRetryable: true) { _ in .lossAfterSave }
    let stack = try CounterStack(on: .inMemory, type: type)
    let (count, _) = await calls(in: stack) { context in
      try Counter(context: context).name = "a"
      try? context.save()
      throw Self.conflict
    }
    #expect(count == 1)
  }

  @Test(arguments: Backend.available)
  func `an attempt with a save or a change in the store is not repeated`(backend: Backend) async throws {
    let stack = try CounterStack(on: backend)
    let id = try stack.add("a")
    let writes: [@Sendable (BackgroundContext) throws -> Void] = [
      { context in
        try context.counter(id).count += 1
        try context.save()
      },
      { context in
        let sum = UpdateExpression.sum(.attribute("count"), .value(.int(1)))
        try context.execute(BatchUpdateRequest(entityName: "Counter", expressions: ["count": sum]))
      },
      { context in
        try context.claim(FetchRequest<Counter>(entityName: "Counter").sort("name"), limit: 1, set: ["count": Int64(3)])
      },
      { context in
        let child = ManagedObjectContext(parent: context)
        child.savesPastParent = true
        try child.performAndWait {
          try child.counter(id).count += 1
          try child.save()
        }
      },
    ]
    for write in writes {
      let (count, error) = await calls(in: stack) { context in
        try write(context)
        throw Self.conflict
      }
      #expect(count == 1)
      #expect((error as? CoherenceError)?.code == .versionConflict)
    }
    #expect(try stack.count(id) == 4)
  }

  @Test func `errors that another attempt cannot change are not repeated`() async throws {
    let stack = try CounterStack(on: .inMemory)
    let failures: [@Sendable (BackgroundContext) throws -> Void] = [
      { _ in throw TestError() },
      { _ in throw CancellationError() },
      { _ in throw CoherenceError(.cancelled, "Cancelled.", isRetryable: true) },
      { _ in throw CoherenceError(.partialSave, "Partial.", isRetryable: true) },
      { _ in throw CoherenceError(.storeBusy, "Busy.", outcome: .applied, isRetryable: true) },
      { _ in throw CoherenceError(.deleteDenied, "Denied.", isRetryable: true) },
      { _ in throw CoherenceError(.validationFailed, "Refused.", isRetryable: true) },
      { _ in throw CoherenceError(.storeFull, "Full.") },
      { _ in throw CoherenceError(.objectUnavailable, "Unavailable.", isRetryable: true) },
      { _ in
        let cause = CoherenceError(.storeFull, "Full.")
        throw CoherenceError(.objectUnavailable, "Unavailable.", underlying: cause, isRetryable: true)
      },
      { try Counter(context: $0).name = "" },
    ]
    for failure in failures {
      let (count, error) = await calls(in: stack, failure)
      #expect(count == 1)
      #expect(error != nil)
    }
  }

  @Test(arguments: [ErrorCode.uniquenessViolated, .danglingReference])
  func `the second violation of a constraint ends the attempts, whatever errors are between`(
    code: ErrorCode
  ) async throws {
    let stack = try CounterStack(on: .inMemory)
    let attempts = Atomic<Int>(0)
    await #expect {
      try await stack.container.performBackgroundTask(retrying: Self.atOnce(9)) { _, attempt in
        attempts.store(attempt, ordering: .relaxed)
        throw attempt == 2 ? Self.conflict : CoherenceError(code, "Violated.")
      }
    } throws: {
      code ~= $0
    }
    #expect(attempts.load(ordering: .relaxed) == 3)
  }

  @Test func `attempts with transient errors are repeated, up to the limit of the policy`() async throws {
    let stack = try CounterStack(on: .inMemory)
    let vanished = CoherenceError(.objectUnavailable, "Unavailable.", underlying: Self.conflict)
    let failures = [
      Self.conflict, vanished, CoherenceError(.recordVanished, "Vanished."),
      CoherenceError(.connectionLost, "Lost.", isRetryable: true),
      CoherenceError(.storeBusy, "Busy.", isRetryable: true),
    ]
    for failure in failures {
      let (count, _) = await calls(in: stack) { _ in throw failure }
      #expect(count == 5)
    }
  }
}
