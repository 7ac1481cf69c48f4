import CoherenceCore
public import Foundation

/// The clock of refreshes. A test can implement a manual clock, so that it need not wait.
public protocol RefreshClock: Sendable {
  /// The wall-clock time. The clocks of all processes with one store should differ by less than a minute.
  var now: Date { get }
  /// Waits for a duration.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  func wait(for duration: Duration) async throws
  /// Waits for a date of the wall clock. The wait may end before the date when the clock is set back: the caller
  /// compares the dates again. The default implementation reads the time every minute, so that the wait ends at most a
  /// minute late after the clock was set forward.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  func wait(until date: Date) async throws
}

extension RefreshClock {
  public func wait(until date: Date) async throws {
    var remaining = max(date.timeIntervalSince(now), 0)
    repeat {
      let pause = min(remaining, 60)
      try await wait(for: .seconds(pause))
      // Setting the clock back does not prolong the wait.
      remaining = min(remaining - pause, date.timeIntervalSince(now))
    } while remaining > 0
  }
}

extension RefreshClock where Self == SystemRefreshClock {
  /// The clock of the system.
  public static var system: SystemRefreshClock { SystemRefreshClock() }
}

/// The clock of the system.
public struct SystemRefreshClock: RefreshClock {
  /// Makes the clock.
  public init() {}
  public var now: Date { Date() }
  public func wait(for duration: Duration) async throws { try await Task.sleep(for: duration.limitedForSleep) }
}
