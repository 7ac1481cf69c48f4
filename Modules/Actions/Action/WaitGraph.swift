import CoherenceCore
import Synchronization

/// Finds out, before an action waits for others, whether that could ever end.
enum WaitGraph {
  /// Held while an action begins to wait, so that two that would wait for each other do not miss one another.
  private static let lock = Mutex(())

  /// Notes that an action waits for others.
  ///
  /// - Throws: ``ErrorCode/actionWaitsForItself``; nothing is noted then.
  static func begin(_ waiter: AnyActionHandle, for awaited: [AnyActionHandle]) throws {
    try lock.withLock { _ in
      let outlook = WaitOutlook(of: awaited, for: waiter)
      for handle in awaited where !outlook.canFinish(handle) {
        throw CoherenceError(
          .actionWaitsForItself,
          "The action '\(type(of: waiter.action))' would wait for '\(type(of: handle.action))', which cannot end before "
            + "it has ended itself; let the action end, and wait elsewhere: in a detached task, or in whoever submits.")
      }
      waiter.life.withLock { $0.awaited += awaited }
    }
  }

  static func end(_ waiter: AnyActionHandle, for awaited: [AnyActionHandle]) {
    waiter.life.withLock { life in
      for handle in awaited {
        if let index = life.awaited.firstIndex(where: { $0 === handle }) { life.awaited.remove(at: index) }
      }
    }
  }
}
