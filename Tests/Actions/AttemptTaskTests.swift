import CoherenceCore
import TestSupport
import Synchronization
import Testing

@testable import CoherenceActions

@Suite("Tasks of attempts", .timeLimit(.minutes(15)))
struct AttemptTaskTests {
  private let clock = ManualClock()
  private let stack: ConnectStack

  init() throws { stack = try ConnectStack.started(options: ConnectOptions(clock: clock)) }

  @Test
  func `cancelling an action cancels its present attempt, even if the task of an earlier attempt is reported late`()
    async throws
  {
    let (begun, gate) = (TaskGate(), TaskGate())
    let handle = try stack.connect.execute(
      TaskAction {
        if AnyActionHandle.current?.statistics.attempts == 1 { throw MockError() }
        begun.open()
        await gate.pass()
      }, options: ActionOptions(retry: RetryPolicy(initialDelay: .seconds(1), jitter: 0)))
    await clock.untilSleeping()
    clock.advance(by: .seconds(1))
    await begun.pass()
    // The lane of the first attempt continues only now.
    handle.didStart(Task {}, ofAttempt: 1)
    handle.cancel()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled)
  }

  @Test func `an action with many attempts retains neither the timers nor the counters of its earlier attempts`()
    async throws
  {
    let (begun, gate) = (TaskGate(), TaskGate())
    let retry = RetryPolicy(attempts: .max, initialDelay: .seconds(1), maximumDelay: .seconds(1), jitter: 0)
    let handle = try stack.connect.execute(
      EntityTaskAction { context in
        let attempt = AnyActionHandle.current?.statistics.attempts ?? 0
        try await context.perform {
          context.insert(ConnectEntity1.make(Int64(attempt), "attempt"))
          try context.save()
        }
        if attempt <= 100 { throw MockError() }
        begun.open()
        await gate.pass()
      }, options: ActionOptions(retry: retry))
    for _ in 0..<100 {
      await clock.untilSleeping()
      clock.advance(by: .seconds(1))
    }
    await begun.pass()
    #expect(handle.lifecycle.withLock { $0.retainedCount } < 50)
    gate.open()
    try await handle.waitUntilFinished()
    #expect(handle.statistics.attempts == 101)
    // The work of the earlier attempts counts too.
    #expect(handle.statistics.contextStatistics?.inserts == 101)
  }
}
