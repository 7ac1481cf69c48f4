/// The limits and the clock with which a ``GenericConnect`` executes actions. A limit below one counts as one.
public struct ConnectOptions: Sendable {
  /// The maximum number of simultaneous generic actions; at least one.
  public var maximumConcurrentGenericActions: Int {
    didSet { maximumConcurrentGenericActions = max(1, maximumConcurrentGenericActions) }
  }
  /// The maximum number of blocked completion blocks before further blocks wait; at least one. Each blocked block occupies
  /// a thread. Blocks that return at once share one thread.
  public var maximumConcurrentCompletionBlocks: Int {
    didSet { maximumConcurrentCompletionBlocks = max(1, maximumConcurrentCompletionBlocks) }
  }
  /// The clock of timeouts and retry delays. With a manual clock, tests need not wait.
  public var clock: any Clock<Duration>

  /// Makes options.
  public init(
    maximumConcurrentGenericActions: Int = 5, maximumConcurrentCompletionBlocks: Int = 64,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.maximumConcurrentGenericActions = max(1, maximumConcurrentGenericActions)
    self.maximumConcurrentCompletionBlocks = max(1, maximumConcurrentCompletionBlocks)
    self.clock = clock
  }
}
