public import Foundation

/// The clock of refreshes. A test has a clock of its own and need not wait.
public protocol RefreshClock: Sendable {
  /// The wall-clock time. All processes with one store should have about the same time.
  var now: Date { get }
  /// Waits for a time.
  ///
  /// - Throws: `CancellationError` as soon as the task is canceled.
  func wait(for duration: Duration) async throws
  /// Waits until the wall-clock time has reached a date. The default looks at the time every minute, so that a clock that is
  /// set forward ends the wait at most a minute late.
  ///
  /// - Throws: `CancellationError` as soon as the task is canceled.
  func wait(until date: Date) async throws
}

extension RefreshClock {
  public func wait(until date: Date) async throws {
    var rest = max(date.timeIntervalSince(now), 0)
    repeat {
      let part = min(rest, 60)
      try await wait(for: .seconds(part))
      // A clock that is set back does not make the wait longer: who waits decides anew.
      rest = min(rest - part, date.timeIntervalSince(now))
    } while rest > 0
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
  public func wait(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
