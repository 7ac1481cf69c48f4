import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization
import Testing

/// The faults of actions in Coherence 5. Each test is named after the fault and checks that it is fixed.
@Suite("Faults of actions")
struct ActionFaultTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started() }

  // MARK: State

  @Test func `fault: the state and status of a proxy are inconsistent, and a cancel can be lost`() async throws {
    for _ in 0..<200 {
      let handle = try connect.execute(MockGenericAction())
      await withTaskGroup(of: Void.self) { group in
        group.addTask { handle.cancel() }
        group.addTask {
          while handle.state != .finished { await Task.yield() }
          #expect(handle.statistics.finishTime != nil && handle.completionStatus != .unknown)
        }
      }
      let status = handle.completionStatus
      #expect(status == .successful || status == .canceled)
      handle.cancel()
      #expect(handle.completionStatus == status)
    }
  }

  @Test func `fault: a late cancel changes the status of a finished action`() async throws {
    for (fails, status) in [(false, ActionCompletionStatus.successful), (true, .failed)] {
      let script = MockScript(fails: fails)
      let handle = try connect.execute(MockGenericAction(script: script))
      try await handle.waitUntilFinished()
      handle.cancel()
      #expect(handle.completionStatus == status && script.cancelCount == 0)
    }
  }

  @Test func `fault: cancel of an action is called twice`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    handle.cancel()
    handle.cancel()
    try await handle.waitUntilFinished()
    #expect(script.cancelCount == 1)
  }

  @Test func `fault: the task of a cancelled action is not cancelled`() async throws {
    let gate = TaskGate()
    let handle = try connect.execute(
      TaskAction {
        await gate.pass()
        return Task.isCancelled
      })
    handle.progress.cancel()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled && handle.progress.isCancelled)
  }

  @Test func `fault: a cancelled waiting action finishes only when its turn comes`() async throws {
    connect.suspended = true
    let (stream, continuation) = AsyncStream<ActionCompletionStatus>.makeStream()
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>()) { continuation.yield($0.completionStatus) }
    handle.cancel()
    for await status in stream {
      #expect(status == .canceled)
      break
    }
  }

  @Test func `fault: a waiting action has no state pending`() async throws {
    connect.suspended = true
    let handle = try connect.execute(MockGenericAction())
    #expect(handle.state == .pending)
    connect.suspended = false
    try await handle.value
  }

  // MARK: Context and statistics

  @Test func `fault: the context of an action is made at submission and retained by the proxy`() async throws {
    connect.suspended = true
    let seen = OrderLog()
    let flag = Flag()
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        context.deinitBlock = { flag.raise() }
        let count = try context.performAndWait { try context.count(for: FetchRequest(ConnectEntity1.self)) }
        seen.enter(count)
      })
    try stack.inActionContext { context in
      context.insert(ConnectEntity1.make(1, "after the submission"))
      try context.save()
    }
    connect.suspended = false
    try await handle.value
    #expect(seen.numbers == [1])
    #expect(flag.isRaised)
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isRaised: Bool { value.load(ordering: .sequentiallyConsistent) }
    func raise() { value.store(true, ordering: .sequentiallyConsistent) }
  }

  @Test func `fault: failed, cancelled and running actions have no context statistics`() async throws {
    let script = MockScript(waits: true, fails: true)
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          context.insert(ConnectEntity1.make(1, "one"))
          try context.save()
        }
        try script.run()
      })
    await script.untilBegun()
    #expect(handle.statistics.contextStatistics?.inserts == 1)
    handle.cancel()
    script.release()
    try await handle.waitUntilFinished()
    #expect(handle.error is MockError && handle.completionStatus == .canceled)
    #expect(handle.statistics.contextStatistics?.inserts == 1)
  }

  @Test func `fault: descriptions of statistics have carriage returns and unmatched braces`() async throws {
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>())
    try await handle.value
    let text = "\(handle.statistics)"
    #expect(!text.contains("\r"))
    #expect(text.count { $0 == "{" } == text.count { $0 == "}" })
  }

  @Test func `fault: the other time of context statistics is negative`() async throws {
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        _ = try context.performAndWait { try context.fetch(FetchRequest(ConnectEntity1.self)) }
      })
    try await handle.value
    #expect(try #require(handle.statistics.contextStatistics).otherTime >= 0)
  }

  // MARK: Completion

  @Test func `fault: a completion block blocks the queue of its action`() async throws {
    let slow = MockScript(waits: true)
    try connect.execute(MockEntityAction<ConnectEntity1>()) { _ in try? slow.run() }
    await slow.untilBegun()
    try await connect.execute(MockEntityAction<ConnectEntity1>()).value
    slow.release()
  }

  @Test func `fault: a completion block runs before the notifications`() async throws {
    let told = OrderLog()
    let observers = [Notification.ActionDidStartExecuting, Notification.ActionDidFinishExecuting].enumerated().map {
      number, name in
      NotificationCenter.default.addObserver(forName: name, object: connect, queue: nil) { _ in told.enter(number) }
    }
    defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
    let (stream, continuation) = AsyncStream<[Int]>.makeStream()
    try connect.execute(MockGenericAction()) { _ in continuation.yield(told.numbers) }
    for await numbers in stream {
      #expect(numbers == [0, 1])
      break
    }
  }

  @Test func `fault: an action cannot be awaited`() async throws {
    #expect(try await connect.execute(TaskAction { 42 }).value == 42)
    try await connect.execute(MockGenericAction()).value
    await #expect(throws: MockError.self) {
      try await connect.execute(MockEntityAction<ConnectEntity1>(script: MockScript(fails: true))).value
    }
  }

  @Test func `fault: actions have no priority, dependency, timeout, limit, key or second attempt`() async throws {
    let first = try connect.execute(MockGenericAction())
    let options = ActionOptions(
      priority: .high, dependencies: [first], timeout: .seconds(60), uniqueKey: "key",
      limit: ConcurrencyLimit("host", 1), retry: RetryPolicy())
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(), options: options)
    try await handle.value
    #expect(handle.statistics.attempts == 1)
  }
}
