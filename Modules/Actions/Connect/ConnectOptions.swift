/// How a ``GenericConnect`` executes actions.
public struct ConnectOptions: Sendable {
  /// How many generic actions run at once; at least one.
  public var maximumConcurrentGenericActions: Int
  /// How many completion blocks may be blocked at once before further blocks wait; at least one. Each blocked one keeps a
  /// thread. Blocks that return at once share one thread, whatever the number.
  public var maximumConcurrentCompletionBlocks: Int
  /// The clock that timeouts, and the time between attempts, are measured with. A manual clock makes tests that do not
  /// have to wait.
  public var clock: any Clock<Duration>

  public init(
    maximumConcurrentGenericActions: Int = 5, maximumConcurrentCompletionBlocks: Int = 64,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.maximumConcurrentGenericActions = max(1, maximumConcurrentGenericActions)
    self.maximumConcurrentCompletionBlocks = max(1, maximumConcurrentCompletionBlocks)
    self.clock = clock
  }
}
