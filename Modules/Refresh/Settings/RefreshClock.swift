public import Foundation

/// The clock of refreshes. A test has a clock of its own and need not wait.
public protocol RefreshClock: Sendable {
  /// The wall-clock time. All processes with one store should have about the same time.
  var now: Date { get }
  /// Waits for a time.
  ///
  /// - Throws: `CancellationError` as soon as the task is canceled.
  func wait(for duration: Duration) async throws
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
