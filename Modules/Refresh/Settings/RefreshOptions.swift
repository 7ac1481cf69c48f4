public import CoherenceCore

/// The common settings of a ``Refresher``'s refreshes.
public struct RefreshOptions: Sendable {
  /// The staleness interval for registrations and entities without their own interval; 600 seconds by default.
  public var stalenessInterval: Duration = .seconds(600)
  /// The time after which an attempt is cancelled; five minutes by default. When a process dies during an attempt, its
  /// scope is locked for about this time.
  public var timeLimit: Duration = .seconds(300)
  /// The delays after failures, by default from 2.5 to 5 seconds at first, and up to an hour. An error with the trait
  /// `RetryAdvising` may ask for a longer delay, up to the policy's longest. The policy's number of attempts has no
  /// effect.
  public var backoff = RetryPolicy(initialDelay: .seconds(5), maximumDelay: .seconds(3600))
  /// The clock of due dates and waits.
  public var clock: any RefreshClock = .system
  /// The source of random delays.
  public var generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()

  /// Makes the default settings.
  public init() {}
}
