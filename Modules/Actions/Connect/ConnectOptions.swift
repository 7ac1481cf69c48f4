/// How a ``GenericConnect`` executes actions.
public struct ConnectOptions: Sendable {
  /// How many generic actions run at once; at least one.
  public var maximumConcurrentGenericActions: Int
  /// What timeouts, and the time between attempts, are measured with. A clock that is moved by hand makes tests that do
  /// not have to wait.
  public var clock: any Clock<Duration>

  public init(maximumConcurrentGenericActions: Int = 5, clock: any Clock<Duration> = ContinuousClock()) {
    self.maximumConcurrentGenericActions = max(1, maximumConcurrentGenericActions)
    self.clock = clock
  }
}
