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
      // The only wait of the action, as mostly. The lock of the whole process is not held for a search of each action.
      if remaining.count == awaited.count { return waits[ObjectIdentifier(waiter)] = nil }
      for handle in awaited {
        if let index = remaining.firstIndex(where: { $0 === handle }) { remaining.remove(at: index) }
      }
      waits[ObjectIdentifier(waiter)] = remaining.isEmpty ? nil : remaining
    }
  }
}

extension AnyActionHandle {
  fileprivate typealias Requirement = DeadlockDetector<AnyActionHandle>.Requirement

  /// The actions that must finish first: for a running action, the actions that it waits for; for a pending action, the
  /// actions that keep it from its present condition, and from the slot and the lane that it needs afterwards. Their
  /// holders keep a slot and a lane until they finish.
  fileprivate func requirement(
    of waiter: AnyActionHandle, waits: [ObjectIdentifier: [AnyActionHandle]]
  ) -> Requirement {
    switch state {
    case .finished: return .none
    case .executing: return .all(waits[ObjectIdentifier(self)] ?? [])
    case .created, .pending: break
    }
    let blockers = queue.blockers(of: self)
    let lane = Requirement.any(blockers.running)
    switch blockers.condition {
    case nil: return lane
    // The Connect is stopping, and cannot start again before the waiter has finished.
    case .start: return scheduler === waiter.scheduler ? .waiter : .none
    case .prerequisites:
      let slot = Requirement.any(scheduler.holders(ofSlotsFor: self, asksForFirstTime: true))
      return Requirement.all(resolvedOptions?.prerequisites.all ?? []).and(slot).and(lane)
    case .slot, .delay: return Requirement.any(scheduler.holders(ofSlotsFor: self, asksForFirstTime: false)).and(lane)
    }
  }
}
