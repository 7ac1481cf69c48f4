public import Foundation

/// The time of a worker: a clock for intervals, and the date for due dates. With a manual clock, tests need not wait.
///
/// The date may be set back and forward. Leases depend on the clock alone; a due date is reached when the date says so,
/// at most a minute late when the date was set forward.
public struct PersistedActionClock: Sendable {
  /// The time since the clock was made.
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
    sleep = { try await clock.sleep(for: $0) }
    self.date = date
  }

  /// The clock and the date of the system.
  public static var system: PersistedActionClock { PersistedActionClock(ContinuousClock()) }
}
