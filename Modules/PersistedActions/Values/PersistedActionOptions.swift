/// The limits of a ``PersistedActionWorker``. A value out of range is replaced by the nearest valid value.
public struct PersistedActionOptions: Sendable {
  /// The maximum number of concurrent actions; at least one, and at most 1,048,576.
  public var concurrency: Int {
    didSet { concurrency = Self.limited(concurrency, from: 1) }
  }
  /// The queues of the worker; an empty list means the default queue. The queues share the worker's free slots evenly,
  /// within the limit of each queue.
  public var queues: [PersistedActionQueue] {
    didSet { queues = Self.orDefault(queues) }
  }
  /// The time without a heartbeat after which other workers take over the worker's actions; at least one second. The
  /// worker sends three heartbeats in this time while it has actions.
  public var leaseLength: Duration {
    didSet { leaseLength = max(.seconds(1), leaseLength) }
  }
  /// The maximum number of short actions that the worker claims in advance, so that one transaction claims many of
  /// them. Below this maximum, the worker claims the actions that it can run in about fifty milliseconds.
  /// At most 1,048,576.
  public var maximumClaimedAhead: Int {
    didSet { maximumClaimedAhead = Self.limited(maximumClaimedAhead, from: 0) }
  }
  /// The time to keep finished actions.
  public var retention: PersistedActionRetention
  /// The treatment of actions whose names the worker does not know.
  public var unknownActions: UnknownActionPolicy
  /// The name of the worker in logs and in its record.
  public var workerName: String

  /// Makes options.
  public init(
    concurrency: Int = 8, queues: [PersistedActionQueue] = [PersistedActionQueue(PersistedActionQueue.defaultName)],
    leaseLength: Duration = .seconds(30), maximumClaimedAhead: Int = 256,
    retention: PersistedActionRetention = PersistedActionRetention(), unknownActions: UnknownActionPolicy = .park,
    workerName: String = "worker"
  ) {
    self.concurrency = Self.limited(concurrency, from: 1)
    self.queues = Self.orDefault(queues)
    self.leaseLength = max(.seconds(1), leaseLength)
    self.maximumClaimedAhead = Self.limited(maximumClaimedAhead, from: 0)
    self.retention = retention
    self.unknownActions = unknownActions
    self.workerName = workerName
  }

  private static func limited(_ count: Int, from least: Int) -> Int { min(max(least, count), 1 << 20) }

  private static func orDefault(_ queues: [PersistedActionQueue]) -> [PersistedActionQueue] {
    queues.isEmpty ? [PersistedActionQueue(PersistedActionQueue.defaultName)] : queues
  }
}

/// The treatment of stored actions whose names a worker does not know.
public enum UnknownActionPolicy: Sendable, Hashable {
  /// The action is parked, with a failure that names its type. A later version of the program can retry it.
  case park
  /// The action waits for another worker. For programs that share a queue and know different actions.
  case leave
}

/// The time to keep finished actions, by state. Pruning deletes older actions.
public struct PersistedActionRetention: Sendable, Hashable {
  /// The time to keep actions that succeeded. `nil` keeps them for ever; zero deletes them with their success.
  public var succeeded: Duration?
  /// The time to keep cancelled actions; `nil` keeps them for ever.
  public var canceled: Duration?
  /// The time to keep parked actions; `nil` keeps them for ever.
  public var parked: Duration?

  /// Makes a retention.
  public init(
    succeeded: Duration? = .seconds(86_400), canceled: Duration? = .seconds(604_800), parked: Duration? = nil
  ) {
    self.succeeded = succeeded
    self.canceled = canceled
    self.parked = parked
  }

  /// Whether the transaction that saves an action's success also deletes its record.
  var deletesSucceeded: Bool { succeeded.map { $0 <= .zero } ?? false }

  /// The states whose actions are deleted, with the times to keep them.
  var limits: [(state: PersistedActionState, duration: Duration)] {
    [(.succeeded, succeeded), (.canceled, canceled), (.parked, parked)].compactMap { state, duration in
      duration.map { (state, $0) }
    }
  }
}
