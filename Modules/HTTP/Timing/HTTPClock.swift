public import Foundation

/// The time that retries and time limits go by. A test brings its own, so that it need not wait.
public protocol HTTPClock: Sendable {
  /// The wall clock's time, which `Retry-After` may refer to.
  var now: Date { get }
  /// Returns after that time. Throws `CancellationError` as soon as the task is cancelled.
  func wait(for duration: Duration) async throws
}

extension HTTPClock where Self == SystemHTTPClock {
  /// The system's time.
  public static var system: SystemHTTPClock { SystemHTTPClock() }
}

/// The system's time.
public struct SystemHTTPClock: HTTPClock {
  public init() {}
  public var now: Date { Date() }
  public func wait(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
