import CoherenceCore
import Testing

@testable import CoherenceActions

@Suite("The timers of an action", .timeLimit(.minutes(15)))
struct LifecycleTimerTests {
  /// Makes attempts, each of which returns the action to pending.
  private func makeAttempts(
    _ count: Int, _ lifecycle: inout LifecycleState<Int>, afterEach keepTimer: (inout LifecycleState<Int>, Int) -> Void
  ) {
    for number in 1...count {
      let claim = lifecycle.claim(toRun: true)
      #expect(claim != nil)
      lifecycle.returnToPending()
      keepTimer(&lifecycle, number)
    }
  }

  /// Ends a pending action, and returns the timers that it has kept.
  private func finish(_ lifecycle: inout LifecycleState<Int>) -> [Task<Void, Never>] {
    let claim = lifecycle.claim(toRun: false)
    #expect(claim != nil)
    return lifecycle.finish(throwing: nil).timers
  }

  @Test func `an action keeps the timer of its timeout and of one delay, however many attempts it makes`() {
    var lifecycle = LifecycleState<Int>(completions: [])
    lifecycle.keep(timeoutTimer: Task {})
    makeAttempts(100, &lifecycle) { $0.keep(delayTimer: Task {}, afterAttempt: $1) }
    let timers = finish(&lifecycle)
    #expect(timers.count == 2)
  }

  @Test func `the late timer of an earlier delay does not replace the timer of the present delay`() {
    var lifecycle = LifecycleState<Int>(completions: [])
    let (early, late) = (Task {}, Task {})
    makeAttempts(2, &lifecycle) { _, _ in }
    lifecycle.keep(delayTimer: late, afterAttempt: 2)
    lifecycle.keep(delayTimer: early, afterAttempt: 1)
    let timers = finish(&lifecycle)
    #expect(timers == [late])
  }

  @Test func `a timer that begins after the end of the action is cancelled`() async {
    var lifecycle = LifecycleState<Int>(completions: [])
    _ = finish(&lifecycle)
    // Only its cancellation ends such a task.
    let timers = (0..<2).map { _ -> Task<Void, Never> in
      Task { for await _ in AsyncStream.makeStream(of: Void.self).stream {} }
    }
    lifecycle.keep(timeoutTimer: timers[0])
    lifecycle.keep(delayTimer: timers[1], afterAttempt: 0)
    for timer in timers { await timer.value }
  }
}
