/// The limits of a ``PersistedActionWorker``.
public struct PersistedActionOptions: Sendable {
  /// The maximum number of actions that run at once; at least one.
  public var concurrency: Int
  /// The queues, each with a limit of its own. Free places are shared among the queues.
  public var queues: [PersistedActionQueue]
  /// The time without a sign of life after which other workers run the worker's actions again; at least one second. The
  /// worker gives a sign three times in this period while it has actions.
  public var leaseLength: Duration
  /// The maximum number of short actions that the worker claims ahead, so that a transaction serves many of them. The
  /// worker claims ahead as many actions as it ends in some fifty milliseconds.
  public var maximumClaimedAhead: Int
  /// The time for which finished actions are kept.
  public var retention: PersistedActionRetention
  /// The treatment of actions whose names the worker does not know.
  public var unknownActions: UnknownActionPolicy
  /// The name of the worker in ``PersistedActionInfo``, for people.
  public var workerName: String

  /// Makes options. Values out of range are replaced by the nearest valid value; an empty list of queues means the
  /// default queue.
  public init(
    concurrency: Int = 8, queues: [PersistedActionQueue] = [PersistedActionQueue(PersistedActionQueue.defaultName)],
    leaseLength: Duration = .seconds(30), maximumClaimedAhead: Int = 256,
    retention: PersistedActionRetention = PersistedActionRetention(), unknownActions: UnknownActionPolicy = .park,
    workerName: String = "worker"
  ) {
    self.concurrency = max(1, concurrency)
    self.queues = queues.isEmpty ? [PersistedActionQueue(PersistedActionQueue.defaultName)] : queues
    self.leaseLength = max(.seconds(1), leaseLength)
    self.maximumClaimedAhead = max(0, maximumClaimedAhead)
    self.retention = retention
    self.unknownActions = unknownActions
    self.workerName = workerName
  }
}

/// The treatment of stored actions whose names a worker does not know.
public enum UnknownActionPolicy: Sendable, Hashable {
  /// The action is parked with a sentence, and kept: a later version of the program may know it again.
  case park
  /// The action waits for another worker, for programs that share a queue and know different actions.
  case leave
}

/// The time for which finished actions are kept. Pruning deletes older ones.
public struct PersistedActionRetention: Sendable, Hashable {
  /// For actions that succeeded: `nil` for ever, zero for none.
  public var succeeded: Duration?
  /// For canceled actions: `nil` for ever.
  public var canceled: Duration?
  /// For parked actions: `nil` for ever.
  public var parked: Duration?

  /// Makes a retention.
  public init(
    succeeded: Duration? = .seconds(86_400), canceled: Duration? = .seconds(604_800), parked: Duration? = nil
  ) {
    self.succeeded = succeeded
    self.canceled = canceled
    self.parked = parked
  }

  /// Whether an action that succeeds leaves no record.
  var deletesSucceeded: Bool { succeeded.map { $0 <= .zero } ?? false }

  /// The states with a limited time, and the times.
  var limits: [(state: PersistedActionState, duration: Duration)] {
    [(.succeeded, succeeded), (.canceled, canceled), (.parked, parked)].compactMap { state, duration in
      duration.map { (state, $0) }
    }
  }
}
