/// How a ``GenericConnect`` executes actions.
public struct ConnectOptions: Sendable {
  /// How many generic actions run at once; at least one.
  public var maximumConcurrentGenericActions: Int
  /// The clock that timeouts, and the time between attempts, are measured with. A manual clock makes tests that do not
  /// have to wait.
  public var clock: any Clock<Duration>

  public init(maximumConcurrentGenericActions: Int = 5, clock: any Clock<Duration> = ContinuousClock()) {
    self.maximumConcurrentGenericActions = max(1, maximumConcurrentGenericActions)
    self.clock = clock
  }
}
