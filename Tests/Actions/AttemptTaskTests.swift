import CoherenceCore
import TestSupport
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
}
