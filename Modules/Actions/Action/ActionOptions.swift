/// How an action is executed. An action states it by its own ``Action/options``, and its submitter may state otherwise.
///
/// By default an action has normal priority, one attempt, no timeout, no limit beside that of its queue, depends on no
/// other action and equals none. With a ``uniqueKey`` alone it joins an unfinished equal action, waiting or running.
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
  /// The treatment of this submission while an equal action is unfinished. By default it joins the equal action, even one
  /// that runs with other arguments.
  public var equalActionPolicy: EqualActionPolicy
  /// Whether an equal action that this submission joins gets the priority of this submission, where that is higher. An
  /// action that waits then comes behind the actions that have this priority already.
  public var raisesPriority: Bool
  /// How many of the actions that share the limit may run at once.
  public var limit: ConcurrencyLimit?
  /// Whether the action is run again when it threw; `nil` for one attempt.
  public var retry: RetryPolicy?

  public init(
    priority: ActionPriority = .normal, dependencies: [AnyActionHandle] = [],
    runsAfterFailedDependencies: Bool = false, timeout: Duration? = nil, uniqueKey: ActionKey? = nil,
    equalActionPolicy: EqualActionPolicy = .join, raisesPriority: Bool = false, limit: ConcurrencyLimit? = nil,
    retry: RetryPolicy? = nil
  ) {
    self.priority = priority
    self.dependencies = dependencies
    self.runsAfterFailedDependencies = runsAfterFailedDependencies
    self.timeout = timeout
    self.uniqueKey = uniqueKey
    self.equalActionPolicy = equalActionPolicy
    self.raisesPriority = raisesPriority
    self.limit = limit
    self.retry = retry
  }

  /// Whether nothing is asked for, as for most actions, which then carry no options.
  var isPlain: Bool {
    priority == .normal && dependencies.isEmpty && timeout == nil && uniqueKey == nil && limit == nil && retry == nil
  }
}
