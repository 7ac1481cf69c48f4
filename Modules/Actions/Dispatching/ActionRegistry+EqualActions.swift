import CoherenceCore
import Synchronization

/// The effect of an unfinished equal action on a submission.
enum EqualActionOutcome<Output: Sendable> {
  /// No equal action takes part.
  case alone
  /// The submission has joined this one.
  case joined(ActionHandle<Output>)
  /// The submission takes the place of this one, which has to end.
  case replaces(AnyActionHandle, AnyActionHandle.Cancellation)
}

extension ActionDesk {
  /// Joins or replaces the unfinished equal action of a submission, as the policy of the submission says.
  func meetEqual<Output>(of order: ActionOrder<Output>, on terms: ActionTerms?) -> EqualActionOutcome<Output> {
    guard let terms, let identity = terms.identity, let known = unique[identity] as? ActionHandle<Output> else {
      return .alone
    }
    let policy = terms.options.equalActionPolicy
    if policy != .replace,
      known.life.withLock({ $0.join(order.completion, onlyPending: policy == .joinPending) })
    {
      return .joined(known)
    }
    // Canceled, and about to end: the default does not wait for the end.
    if policy == .join { return .alone }
    terms.follow(known)
    return policy == .replace ? .replaces(known, known.markReplaced()) : .alone
  }

  /// Raises the priority of an action that waits. A lower priority changes nothing.
  mutating func raise(_ handle: AnyActionHandle, to priority: ActionPriority) {
    guard let terms = handle.terms, terms.raise(to: priority) else { return }
    unstarted.raise(handle)
    if let limit = terms.options.limit { groups.raise(handle, waitingFor: limit) }
    handle.queue.raise(handle)
  }

  /// Forgets an action that has finished. An equal one that it waited for and that goes on can be joined again.
  mutating func forget(_ handle: AnyActionHandle, _ identity: ActionIdentity, after predecessors: [AnyActionHandle]) {
    guard unique[identity] === handle else { return }
    unique[identity] = predecessors.last { $0.state != .finished }
  }
}
