/// The limits and the clock with which a ``GenericConnect`` executes actions. A limit below one counts as one, and
/// a limit above 65,536 as 65,536.
public struct ConnectOptions: Sendable {
  /// The maximum number of simultaneous generic actions; at least one.
  public var maximumConcurrentGenericActions: Int {
    didSet { maximumConcurrentGenericActions = Self.limited(maximumConcurrentGenericActions) }
  }
  /// The maximum number of blocked completion blocks before further blocks wait; at least one. Each blocked block occupies
  /// a thread. Blocks that return at once share one thread.
  public var maximumConcurrentCompletionBlocks: Int {
    didSet { maximumConcurrentCompletionBlocks = Self.limited(maximumConcurrentCompletionBlocks) }
  }
  /// The clock of timeouts and retry delays. With a manual clock, tests need not wait.
  public var clock: any Clock<Duration>

  /// Makes options.
  public init(
    maximumConcurrentGenericActions: Int = 5, maximumConcurrentCompletionBlocks: Int = 64,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.maximumConcurrentGenericActions = Self.limited(maximumConcurrentGenericActions)
    self.maximumConcurrentCompletionBlocks = Self.limited(maximumConcurrentCompletionBlocks)
    self.clock = clock
  }

  /// Returns the nearest limit in the range. The maximum bounds memory: a Connect makes as many queues as generic
  /// actions may run at the same time.
  private static func limited(_ count: Int) -> Int { min(max(1, count), 65_536) }
}
