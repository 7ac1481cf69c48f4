import CoherenceCore
public import Foundation

/// The time of a worker: a clock for intervals, and a calendar date for due dates. Tests pass a manual clock, so that
/// they need not wait.
///
/// Leases depend on the clock only, so that a user may change the computer's date. Due dates depend on the date only;
/// if the date is set forward past a due date, the action starts at most a minute later.
public struct PersistedActionClock: Sendable {
  /// Returns the time since this value was made.
  let elapsed: @Sendable () -> Duration
  let sleep: @Sendable (Duration) async throws -> Void
  let date: @Sendable () -> Date

  /// Makes a clock.
  ///
  /// - Parameters:
  ///   - clock: Measures intervals, and sleeps.
  ///   - date: Returns the present date.
  public init(_ clock: some Clock<Duration>, date: @escaping @Sendable () -> Date = { Date() }) {
    let origin = clock.now
    elapsed = { origin.duration(to: clock.now) }
    sleep = { try await clock.sleep(for: $0.limitedForSleep) }
    self.date = date
  }

  /// The clock and the date of the system.
  public static var system: PersistedActionClock { PersistedActionClock(ContinuousClock()) }
}
