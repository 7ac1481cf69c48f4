import CoherenceCore
import Synchronization

/// Finds out, before an action waits for others, whether that could ever end.
///
/// An action that runs can end, unless it waits itself for one that cannot. One that is pending can begin when what it
/// waits for can end: its dependencies, a holder of the place that its concurrency limit lacks, or one of the actions
/// that have the lanes of its queue. Whoever meets an action again on the way has found a circle.
enum WaitGraph {
  /// Held while an action begins to wait, so that two that would wait for each other do not miss one another.
  private static let lock = Mutex(())

  /// Notes that an action waits for others.
  ///
  /// - Throws: ``ErrorCode/actionWaitsForItself``; nothing is noted then.
  static func begin(_ waiter: AnyActionHandle, for awaited: [AnyActionHandle]) throws {
    try lock.withLock { _ in
      for handle in awaited {
        var path: Set<ObjectIdentifier> = [ObjectIdentifier(waiter)]
        guard !canFinish(handle, path: &path) else { continue }
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

  private static func canFinish(_ handle: AnyActionHandle, path: inout Set<ObjectIdentifier>) -> Bool {
    let (state, awaited) = handle.life.withLock { ($0.state, $0.awaited) }
    if state == .finished { return true }
    guard path.insert(ObjectIdentifier(handle)).inserted else { return false }
    defer { path.remove(ObjectIdentifier(handle)) }
    if state == .executing { return awaited.allSatisfy { canFinish($0, path: &path) } }
    switch handle.queue.obstacle(of: handle) {
    case .none, .gate(.start), .gate(.delay): return true
    case .gate(.dependencies):
      return handle.terms?.dependencies.allSatisfy { canFinish($0, path: &path) } ?? true
    case .gate(.limit):
      let holders = handle.dispatcher.holders(ofPlacesFor: handle)
      return holders.isEmpty || holders.contains { canFinish($0, path: &path) }
    case .lanes(let running): return running.contains { canFinish($0, path: &path) }
    }
  }
}
