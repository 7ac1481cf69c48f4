import CoherenceRefresh
import Foundation
import TestSupport

/// A manual wall clock, which only the test sets.
struct RefreshTestClock: RefreshClock {
  private let clock = ManualClock(date: Date(timeIntervalSince1970: 1_800_000_000))

  var now: Date { clock.date }
  /// The dates for which tasks wait.
  var dates: [Date] { clock.wakingDates }

  /// Advances the clock, and wakes the tasks whose dates are reached.
  func advance(by seconds: Double) { clock.advance(by: .seconds(seconds)) }

  /// Sets the date forward like a user, without passing time. Waiting tasks wait as long as before.
  func setForward(by seconds: Double) { clock.date += seconds }

  /// Sets the date back. Waiting tasks wait as long as before.
  func setBack(by seconds: Double) { clock.date -= seconds }

  /// Waits until a number of tasks wait on this clock.
  func untilWaiting(_ count: Int = 1) async { await clock.untilSleeping(count) }

  /// Waits for the whole date in one step instead of minute by minute, so that ``dates`` has the date.
  func wait(until date: Date) async throws { try await wait(for: .seconds(max(date.timeIntervalSince(now), 0))) }

  func wait(for duration: Duration) async throws { try await clock.wait(until: clock.now.advanced(by: duration)) }
}

/// A clock with the default implementation of waiting for a date.
struct PlainRefreshClock: RefreshClock {
  let base: RefreshTestClock
  var now: Date { base.now }
  func wait(for duration: Duration) async throws { try await base.wait(for: duration) }
}
