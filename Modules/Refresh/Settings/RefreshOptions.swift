public import CoherenceActions

/// The common settings of a ``Refresher``'s refreshes.
public struct RefreshOptions: Sendable {
  /// The staleness interval of entities without a setting of their own; 600 seconds by default.
  public var stalenessInterval: Duration = .seconds(600)
  /// The longest time of an attempt, after which it is canceled; five minutes by default. When a process dies during an
  /// attempt, another attempt of its scope begins at the latest after this time.
  public var timeLimit: Duration = .seconds(300)
  /// The delays after failures: by default five seconds, which grow to an hour. The number of attempts has no effect.
  public var backoff = RetryPolicy(initialDelay: .seconds(5), maximumDelay: .seconds(3600))
  /// The clock of due dates and waits.
  public var clock: any RefreshClock = .system
  /// The source of random delays.
  public var generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()

  /// Makes the default settings.
  public init() {}
}
