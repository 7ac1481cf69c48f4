import CoherenceCore
public import Foundation

/// The clock of retries and time limits. A test has a clock of its own and need not wait.
public protocol HTTPClock: Sendable {
  /// The wall-clock time, from which the date of a `Retry-After` counts in a reply without a `Date`.
  var now: Date { get }
  /// The time since a fixed moment, for the measurement of durations. Unlike ``now``, this time is never set forward or
  /// back. By default, the time follows ``now``.
  var monotonicTime: Duration { get }
  /// Waits for a time.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  func wait(for duration: Duration) async throws
}

extension HTTPClock {
  /// The time of ``now`` since a fixed date, for a clock without a time of its own for durations.
  public var monotonicTime: Duration { .seconds(now.timeIntervalSinceReferenceDate) }
}

extension HTTPClock where Self == SystemHTTPClock {
  /// The clock of the system.
  public static var system: SystemHTTPClock { SystemHTTPClock() }
}

/// The clock of the system.
public struct SystemHTTPClock: HTTPClock {
  /// Makes the clock.
  public init() {}
  public var now: Date { Date() }
  public var monotonicTime: Duration { Self.start.duration(to: .now) }
  /// The moment from which ``monotonicTime`` counts.
  private static let start = ContinuousClock.now
  public func wait(for duration: Duration) async throws {
    // A cancelled sleep would keep its memory until its time has passed, and the limit of most requests is cancelled.
    await TimedWait.wait(for: duration)
    try Task.checkCancellation()
  }
}
