public import CoherenceCore

/// The options of an action's execution. An action declares its own ``Action/options``; a submission may replace them.
///
/// By default an action has normal priority, one attempt, no timeout, no concurrency limit, no dependencies and no key. An
/// action with a ``uniqueKey`` joins an unfinished equal action, waiting or running.
public struct ActionOptions: Sendable {
  /// The priority among the waiting actions.
  public var priority: ActionPriority
  /// The actions that finish before this one begins.
  public var dependencies: [AnyActionHandle]
  /// Whether the action runs after a dependency failed or was cancelled. Otherwise the action fails with
  /// ``ErrorCode/dependencyFailed`` and does not run.
  public var runsAfterFailedDependencies: Bool
  /// The longest time from the first attempt to the end, with all attempts and the delays between them. After this time
  /// the action is requested to end, and its end is a failure with ``ErrorCode/timedOut``. `nil` for no timeout.
  public var timeout: Duration?
  /// The key that makes actions of one type equal; `nil` for an action without equals.
  public var uniqueKey: ActionKey?
  /// The treatment of this submission while an equal action is unfinished. By default the submission joins the equal
  /// action, even a running one with other arguments.
  public var equalActionPolicy: EqualActionPolicy
  /// Whether joining raises the priority of the equal action to a higher priority of this submission. A
  /// waiting action then begins after the earlier actions of its new priority.
  public var raisesPriority: Bool
  /// The limit that the action shares with other actions; `nil` for no limit besides the width of its queue.
  public var limit: ConcurrencyLimit?
  /// The attempts after a failure; `nil` for one attempt in all. An error with the trait `RetryAdvising` may ask for a
  /// longer delay than the policy's.
  public var retry: RetryPolicy?

  /// Makes options; the defaults are those of an action without options.
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

  /// Whether the options have no effect, as for most actions. Their handles store no options.
  var isPlain: Bool {
    priority == .normal && dependencies.isEmpty && timeout == nil && uniqueKey == nil && limit == nil && retry == nil
  }
}
