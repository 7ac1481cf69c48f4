/// How an action is executed. An action states it by its own ``Action/options``, and its submitter may state otherwise.
public struct ActionOptions: Sendable {
  /// Which of the waiting actions begins first.
  public var priority: ActionPriority
  /// The actions to finish before this one begins.
  public var dependencies: [AnyActionHandle]
  /// Whether the action runs even though one of its dependencies failed or was canceled. Otherwise it does not run, and
  /// fails with ``ErrorCode/dependencyFailed``.
  public var runsAfterFailedDependencies: Bool
  /// The time that the action has from its beginning to its end, attempts and the time between them included. An action
  /// that takes longer is asked to end, and fails with ``ErrorCode/timedOut`` when it has.
  public var timeout: Duration?
  /// What makes the action equal to others; `nil` when it is unlike any other.
  public var uniqueKey: ActionKey?
  /// How many of the actions that share the limit may run at once.
  public var limit: ConcurrencyLimit?
  /// Whether the action is run again when it threw; `nil` for one attempt.
  public var retry: RetryPolicy?

  public init(
    priority: ActionPriority = .normal, dependencies: [AnyActionHandle] = [],
    runsAfterFailedDependencies: Bool = false, timeout: Duration? = nil, uniqueKey: ActionKey? = nil,
    limit: ConcurrencyLimit? = nil, retry: RetryPolicy? = nil
  ) {
    self.priority = priority
    self.dependencies = dependencies
    self.runsAfterFailedDependencies = runsAfterFailedDependencies
    self.timeout = timeout
    self.uniqueKey = uniqueKey
    self.limit = limit
    self.retry = retry
  }

  /// Whether nothing is asked for, as for most actions, which then carry no options.
  var isPlain: Bool {
    priority == .normal && dependencies.isEmpty && timeout == nil && uniqueKey == nil && limit == nil && retry == nil
  }
}
