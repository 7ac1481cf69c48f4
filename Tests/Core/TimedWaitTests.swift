import Testing

@testable import CoherenceCore

/// The waits behind the times of blocks.
@Suite struct TimedWaitTests {
  private struct WeakWait { weak var wait: TimedWait? }

  @Test func `a cancelled wait of an hour ends at once, and its memory is released`() async {
    var waits: [WeakWait] = []
    for _ in 0..<100 {
      let wait = TimedWait()
      waits.append(WeakWait(wait: wait))
      let task = Task { await wait.run(for: .seconds(3_600)) }
      task.cancel()
      await task.value
    }
    #expect(waits.count { $0.wait != nil } <= 1)
  }

  @Test func `a wait whose task is cancelled already ends at once`() async {
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await TimedWait.wait(for: .seconds(3_600))
    }.value
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .milliseconds(1)])
  func `a wait ends after its time`(time: Duration) async {
    await TimedWait.wait(for: time)
  }

  @Test func `a cancelled wait without an end ends`() async {
    let task = Task { await TimedWait.wait(for: .seconds(Int64.max)) }
    task.cancel()
    await task.value
  }

  @Test func `the sleep of a clock is limited to a time within the range of the clock, and a shorter one is unchanged`()
  {
    #expect(Duration.seconds(Int64.max).limitedForSleep == .seconds(1 << 40))
    #expect(Duration.seconds(1 << 40).limitedForSleep == .seconds(1 << 40))
    #expect(Duration.milliseconds(1_500).limitedForSleep == .milliseconds(1_500))
  }
}
