import CoherenceCore
import Synchronization

/// The waits of running actions for other actions, of the whole process. A wait that would close a cycle is refused.
enum WaitGraph {
  /// By waiting action, the actions that it waits for. The lock is held during the check too, so that of two actions that
  /// begin to wait for each other the second one finds the wait of the first.
  private static let waits = Mutex<[ObjectIdentifier: [AnyActionHandle]]>([:])

  /// Records that a running action waits for other actions. Each call is paired with a call of `end`.
  ///
  /// Does nothing for a finished action, whose wait is that of a task which has outlived the action: nothing waits for
  /// the end of the action any more.
  ///
  /// - Throws: ``ErrorCode/deadlock`` when one of the other actions cannot finish before the waiting action.
  ///   Nothing is recorded then.
  static func begin(_ waiter: AnyActionHandle, for awaited: [AnyActionHandle]) throws {
    if waiter.state == .finished { return }
    try waits.withLock { waits in
      let detector = DeadlockDetector(awaited: awaited, by: waiter) { handle in
        handle.requirement(of: waiter, waits: waits)
      }
      for handle in awaited where !detector.canFinish(handle) {
        throw CoherenceError(
          .deadlock,
          "The action '\(type(of: waiter.action))' cannot wait for '\(type(of: handle.action))', which cannot finish "
            + "before the waiting action; let the waiting action finish, and wait in a detached task, or in the "
            + "submitter.")
      }
      waits[ObjectIdentifier(waiter), default: []] += awaited
    }
  }

  /// Removes a recorded wait.
  static func end(_ waiter: AnyActionHandle, for awaited: [AnyActionHandle]) {
    waits.withLock { waits in
      guard var remaining = waits[ObjectIdentifier(waiter)] else { return }
      for handle in awaited {
        if let index = remaining.firstIndex(where: { $0 === handle }) { remaining.remove(at: index) }
      }
      waits[ObjectIdentifier(waiter)] = remaining.isEmpty ? nil : remaining
    }
  }
}

extension AnyActionHandle {
  /// The actions that must finish first: for a running action, the actions that it waits for; for a pending action, the
  /// actions that keep it from a lane of its queue.
  fileprivate func requirement(
    of waiter: AnyActionHandle, waits: [ObjectIdentifier: [AnyActionHandle]]
  ) -> DeadlockDetector<AnyActionHandle>.Requirement {
    switch state {
    case .finished: return .none
    case .executing: return .all(waits[ObjectIdentifier(self)] ?? [])
    case .created, .pending: break
    }
    switch queue.blocker(of: self) {
    case .none, .condition(.delay): return .none
    // The Connect is stopping, and cannot start again before the waiter has finished.
    case .condition(.start): return scheduler === waiter.scheduler ? .waiter : .none
    case .condition(.prerequisites): return .all(resolvedOptions?.prerequisites.all ?? [])
    case .condition(.slot): return .any(scheduler.holders(ofSlotsFor: self))
    case .lanes(let running): return .any(running)
    }
  }
}
