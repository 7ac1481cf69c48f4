import CoherenceRefresh
import Foundation
import TestSupport

/// A wall clock that a test sets.
struct RefreshTestClock: RefreshClock {
  private let clock = ManualClock(date: Date(timeIntervalSince1970: 1_800_000_000))

  var now: Date { clock.date }
  /// The dates that tasks wait for.
  var dates: [Date] { clock.wakingDates }

  /// Sets the clock forward, and wakes the tasks whose time has come.
  func advance(by seconds: Double) { clock.advance(by: .seconds(seconds)) }

  /// Sets the date forward without the passing of time. Waiting tasks wait as long as before.
  func setForward(by seconds: Double) { clock.date += seconds }

  /// Sets the date back. Waiting tasks wait as long as before.
  func setBack(by seconds: Double) { clock.date -= seconds }

  /// Waits until a number of tasks wait.
  func untilWaiting(_ count: Int = 1) async { await clock.untilSleeping(count) }

  /// Waits at once, so that ``dates`` has the date.
  func wait(until date: Date) async throws { try await wait(for: .seconds(max(date.timeIntervalSince(now), 0))) }

  func wait(for duration: Duration) async throws { try await clock.sleep(for: duration) }
}

/// A clock that waits for dates as every clock does by default.
struct PlainRefreshClock: RefreshClock {
  let base: RefreshTestClock
  var now: Date { base.now }
  func wait(for duration: Duration) async throws { try await base.wait(for: duration) }
}
