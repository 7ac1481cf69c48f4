import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Timeouts of actions")
struct ActionTimeoutTests {
  private let clock = ManualClock()
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }
  private let options = ActionOptions(timeout: .seconds(30))

  init() throws { stack = try ConnectStack.started(options: ConnectOptions(clock: clock)) }

  @Test func `an action is cancelled after its timeout and fails`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockGenericAction(script: script), options: options)
    await clock.untilSleeping()
    clock.advance(by: .seconds(29))
    #expect(handle.state == .executing && script.cancelCount == 0)
    clock.advance(by: .seconds(1))
    await #expect { try await handle.value } throws: { ErrorCode.timedOut ~= $0 }
    #expect(handle.completionStatus == .failed)
    #expect(script.cancelCount == 1)
  }

  @Test func `an action with the longest timeout of the system's clock has its result`() async throws {
    let stack = try ConnectStack.started()
    let options = ActionOptions(timeout: .seconds(Int64.max))
    let result = try await stack.connect.execute(TaskAction { 7 }, options: options).value
    #expect(result == 7)
  }

  @Test func `the task of an asynchronous action is cancelled after the timeout`() async throws {
    let gate = TaskGate()
    let handle = try connect.execute(TaskAction { await gate.pass() }, options: options)
    await clock.untilSleeping()
    clock.advance(by: .seconds(30))
    await #expect { try await handle.value } throws: { ErrorCode.timedOut ~= $0 }
  }

  @Test func `an action that ignores its timeout finishes at the end of its work and not before`() async throws {
    let script = MockScript(waits: true, fails: true, ignoresCancel: true)
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(script: script), options: options)
    let next = try connect.execute(MockEntityAction<ConnectEntity1>())
    await clock.untilSleeping()
    clock.advance(by: .seconds(31))
    handle.cancel()
    await script.untilCanceled()
    #expect(handle.state == .executing && next.state == .pending)
    script.release()
    try await next.value
    #expect(handle.completionStatus == .canceled)
    #expect(handle.error is MockError)
    #expect(script.cancelCount == 1)
  }

  @Test func `a merge after the timeout of its action throws and changes nothing`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(LateMerge(script: script), options: options)
    await script.untilBegun()
    await clock.untilSleeping()
    clock.advance(by: .seconds(30))
    await #expect { try await handle.value } throws: { error in
      ErrorCode.timedOut ~= error && (error as? CoherenceError)?.underlying.map { ErrorCode.cancelled ~= $0 } == true
    }
    #expect(try stack.strings().isEmpty)
  }

  /// Merges after its cancellation and not before.
  private struct LateMerge: EntityAction {
    typealias ManagedObjectType = ConnectEntity1
    let script: MockScript
    func execute(context: ActionContext) throws {
      try script.run()
      try context.merge(
        objects: [ConnectEntity1.make(1, "late")], for: ConnectModels.main.entity(for: ConnectEntity1.self))
    }
    func cancel() { script.cancel() }
  }

  @Test func `an action with a progress fails with timedOut when its timeout passes between two attempts`() async throws
  {
    let retry = RetryPolicy(initialDelay: .seconds(60), jitter: 0)
    let handle = try connect.execute(
      TaskAction { throw MockError() } as TaskAction<Void>,
      options: ActionOptions(timeout: .seconds(30), retry: retry))
    let progress = handle.progress
    // The timeout, and the delay before the second attempt.
    await clock.untilSleeping(2)
    clock.advance(by: .seconds(30))
    await #expect { try await handle.value } throws: { ErrorCode.timedOut ~= $0 }
    #expect(handle.completionStatus == .failed && handle.statistics.attempts == 1)
    #expect(progress.isCancelled)
  }

  @Test func `a progress that an action first reads after its timeout is cancelled`() async throws {
    let (begun, gate) = (MockScript(), TaskGate())
    let action = TaskAction<Void> {
      try begun.run()
      await gate.pass()
      AnyActionHandle.current?.progress.completedUnitCount = 1
    }
    let handle = try connect.execute(action, options: options)
    await begun.untilBegun()
    await clock.untilSleeping()
    clock.advance(by: .seconds(30))
    await #expect { try await handle.value } throws: { ErrorCode.timedOut ~= $0 }
    #expect(handle.progress.completedUnitCount == 1 && handle.progress.isCancelled)
  }

  @Test func `an action that ends before its timeout succeeds, and its timer is cancelled`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockGenericAction(script: script), options: options)
    await clock.untilSleeping()
    script.release()
    try await handle.value
    clock.advance(by: .seconds(60))
    #expect(handle.completionStatus == .successful && script.cancelCount == 0)
  }
}

@Suite("Repeated attempts of actions")
struct ActionRetryTests {
  private let clock = ManualClock()
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started(options: ConnectOptions(clock: clock)) }

  /// Fails a number of times, then succeeds.
  private final class Attempts: Sendable {
    private let count = Mutex(0)
    private let failures: Int
    init(failures: Int) { self.failures = failures }
    var made: Int { count.withLock { $0 } }
    func make() throws {
      let attempt = count.withLock { count in
        count += 1
        return count
      }
      if attempt <= failures { throw MockError() }
    }
  }

  private func options(attempts: Int = 4) -> ActionOptions {
    ActionOptions(
      retry: RetryPolicy(attempts: attempts, initialDelay: .seconds(1), maximumDelay: .seconds(3), jitter: 0))
  }

  @Test func `an error can ask for a longer delay before the next attempt of an action`() async throws {
    struct Busy: RetryAdvising {
      func retryDelay(at now: Date) -> Duration? { .seconds(90) }
    }
    let events = connect.events
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { _ in
        if AnyActionHandle.current?.statistics.attempts == 1 { throw Busy() }
      }, options: options())
    for await event in events {
      guard case .actionWillRetry(_, _, let delay) = event else { continue }
      #expect(delay == .seconds(90))
      break
    }
    await clock.untilSleeping()
    clock.advance(by: .seconds(90))
    try await handle.value
    #expect(handle.statistics.attempts == 2)
  }

  @Test func `a failed action is retried with growing delays until it succeeds`() async throws {
    let attempts = Attempts(failures: 3)
    let events = connect.events
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait { _ = try context.fetch(FetchRequest(ConnectEntity1.self)) }
        try attempts.make()
      }, options: options())
    for delay in [1, 2, 3] {
      await clock.untilSleeping()
      #expect(handle.state == .pending && handle.error == nil)
      clock.advance(by: .seconds(delay))
    }
    try await handle.value
    #expect(attempts.made == 4)
    #expect(handle.statistics.attempts == 4)
    #expect(try #require(handle.statistics.contextStatistics).contextBlockTime > 0)
    var told: [String] = []
    for await event in events {
      switch event {
      case .actionStarted: told.append("started")
      case .actionWillRetry(_, let attempt, let delay): told.append("\(attempt) \(delay)")
      case .actionFinished: told.append("finished")
      case .stateChanged, .work: break
      }
      if told.last == "finished" { break }
    }
    #expect(told == ["started", "1 1.0 seconds", "2 2.0 seconds", "3 3.0 seconds", "finished"])
  }

  @Test func `an action whose attempts all throw fails with the last error`() async throws {
    let attempts = Attempts(failures: 9)
    let handle = try connect.execute(TaskAction { try attempts.make() }, options: options(attempts: 2))
    await clock.untilSleeping()
    clock.advance(by: .seconds(1))
    await #expect(throws: MockError.self) { try await handle.value }
    #expect(attempts.made == 2)
  }

  @Test func `other actions run while an action waits for its next attempt`() async throws {
    let attempts = Attempts(failures: 1)
    let first = try connect.execute(
      ClosureAction(ConnectEntity1.self) { _ in try attempts.make() }, options: options())
    await clock.untilSleeping()
    try await connect.execute(MockEntityAction<ConnectEntity1>()).value
    #expect(first.state == .pending)
    clock.advance(by: .seconds(1))
    try await first.value
  }

  @Test func `an action that waits for its next attempt can be cancelled`() async throws {
    let attempts = Attempts(failures: 9)
    let handle = try connect.execute(TaskAction { try attempts.make() }, options: options())
    await clock.untilSleeping()
    handle.cancel()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled && attempts.made == 1)
  }

  @Test func `a non-retryable error ends the attempts`() async throws {
    let count = Mutex(0)
    _ = count.withLock { $0 }
    let handle = try connect.execute(
      TaskAction { throw CoherenceError(.invalidValue, "Never.") } as TaskAction<Void>, options: options())
    await #expect { try await handle.value } throws: { ErrorCode.invalidValue ~= $0 }
    #expect(handle.statistics.attempts == 1)
  }

  @Test(arguments: [
    CoherenceError(.partialSave, "One of two stores has committed.", isRetryable: true),
    CoherenceError(.connectionLost, "The commit may have arrived.", outcome: .unknown, isRetryable: true),
  ])
  func `an action whose save may have written is not attempted again`(error: CoherenceError) async throws {
    let handle = try connect.execute(TaskAction { throw error }, options: ActionOptions(retry: RetryPolicy()))
    await #expect(throws: CoherenceError.self) { try await handle.value }
    #expect(handle.statistics.attempts == 1)
  }

  @Test func `a retry condition that cancels its action prevents another attempt`() async throws {
    let attempts = Attempts(failures: 9)
    let known = Mutex<AnyActionHandle?>(nil)
    let submitted = TaskGate()
    let handle = try connect.execute(
      TaskAction {
        await submitted.pass()
        try attempts.make()
      },
      options: ActionOptions(
        retry: RetryPolicy(isRetryable: { _ in
          known.withLock { $0 }?.cancel()
          return true
        })))
    known.withLock { $0 = handle }
    submitted.open()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled && attempts.made == 1)
  }

  @Test func `retry delays never exceed the maximum, even for infinite factors`() {
    var generator = SystemRandomNumberGenerator()
    var policy = RetryPolicy(initialDelay: .seconds(1), factor: 1e300, maximumDelay: .seconds(10), jitter: 0)
    #expect(policy.delay(afterAttempt: 1, using: &generator) == .seconds(1))
    #expect(policy.delay(afterAttempt: .max, using: &generator) == .seconds(10))
    policy.factor = .infinity
    policy.jitter = 7
    #expect(policy.delay(afterAttempt: 2, using: &generator) <= .seconds(10))
    #expect(policy.delay(afterAttempt: 2, using: &generator) >= .zero)
    policy.initialDelay = .seconds(-1)
    #expect(policy.delay(afterAttempt: 2, using: &generator) == .zero)
  }

  @Test func `retry delays double up to the maximum, less a random part`() {
    var policy = RetryPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(10), jitter: 0)
    var generator = SystemRandomNumberGenerator()
    let delays = (1...6).map { policy.delay(afterAttempt: $0, using: &generator) }
    #expect(delays == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
    policy.jitter = 0.5
    for attempt in 1...6 {
      for _ in 0..<100 {
        let delay = policy.delay(afterAttempt: attempt, using: &generator)
        #expect(delay <= delays[attempt - 1] && delay >= delays[attempt - 1] * 0.5)
      }
    }
  }
}
