import CoherenceCore
import Synchronization

/// The effect of an unfinished equal action on a submission.
enum EqualActionOutcome<Output: Sendable> {
  /// The submission is a new action.
  case new
  /// The submission has joined this action.
  case joined(ActionHandle<Output>)
  /// The submission is a new action and replaces this one, whose cancellation the caller has to complete.
  case replaces(AnyActionHandle, AnyActionHandle.Cancellation)
}

extension ActionRegistry {
  /// Finds the unfinished equal action of a submission, and joins or replaces it according to the submission's
  /// ``EqualActionPolicy``.
  func resolveEqualAction<Output>(
    of submission: Submission<Output>, _ options: ResolvedOptions?
  ) -> EqualActionOutcome<Output> {
    guard let options, let identity = options.identity,
      let equal = actionsByIdentity[identity] as? ActionHandle<Output>
    else { return .new }
    let policy = options.options.equalActionPolicy
    if policy != .replace,
      equal.lifecycle.withLock({ $0.join(submission.completion, onlyPending: policy == .joinPending) })
    {
      return .joined(equal)
    }
    // The equal action is cancelled and about to end. The default policy does not wait for its end.
    if policy == .join { return .new }
    options.runAfter(equal)
    return policy == .replace ? .replaces(equal, equal.markReplaced()) : .new
  }

  /// Raises the priority of an action wherever it waits. A lower or equal priority changes nothing.
  mutating func raise(_ handle: AnyActionHandle, to priority: ActionPriority) {
    guard let options = handle.resolvedOptions, options.raise(to: priority) else { return }
    waitingForStart.raise(handle)
    handle.queue.raise(handle)
  }

  /// Removes a finished action from its identity, so that no submission joins it. An unfinished predecessor takes its
  /// place and can be joined again.
  mutating func remove(_ handle: AnyActionHandle, _ identity: ActionIdentity, predecessors: [AnyActionHandle]) {
    guard actionsByIdentity[identity] === handle else { return }
    actionsByIdentity[identity] = predecessors.last { $0.state != .finished }
  }
}
