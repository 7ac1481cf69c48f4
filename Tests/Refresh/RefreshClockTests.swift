import CoherenceRefresh
import Foundation
import Synchronization
import Testing

@Suite("The clock of refreshes")
struct RefreshClockTests {
  /// A clock that notes its pauses. The date advances by a share of each pause.
  private final class NotedClock: RefreshClock {
    private let state: Mutex<(now: Date, pauses: [Double])>
    private let share: Double

    init(_ now: Date, share: Double) {
      state = Mutex((now, []))
      self.share = share
    }

    var now: Date { state.withLock { $0.now } }
    var pauses: [Double] { state.withLock { $0.pauses } }

    func wait(for duration: Duration) async throws {
      state.withLock { state in
        state.pauses.append(duration / .seconds(1))
        state.now += duration / .seconds(1) * share
      }
    }
  }

  @Test func `the longest wait of the system's clock ends with the cancellation of its task`() async throws {
    let task = Task { try await SystemRefreshClock().wait(for: .seconds(Int64.max)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private struct Wait: Sendable {
    let seconds: Double
    var share = 1.0
    let pauses: [Double]
  }

  private static let waits = [
    Wait(seconds: 150, pauses: [60, 60, 30]), Wait(seconds: 60, pauses: [60]), Wait(seconds: 61, pauses: [60, 1]),
    Wait(seconds: 0, pauses: [0]), Wait(seconds: -5, pauses: [0]),
    // The clock is set forward, and is set back.
    Wait(seconds: 150, share: 2, pauses: [60, 30]), Wait(seconds: 150, share: 0, pauses: [60, 60, 30]),
  ]

  @Test func `a clock waits for a date in pauses of a minute at most, and no longer than until the date`() async throws
  {
    for wait in Self.waits {
      let start = Date(timeIntervalSinceReferenceDate: 1_000_000)
      let clock = NotedClock(start, share: wait.share)
      try await clock.wait(until: start + wait.seconds)
      #expect(clock.pauses == wait.pauses, "\(wait)")
    }
  }
}
