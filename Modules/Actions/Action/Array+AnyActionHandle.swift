import Dispatch

/// Operations on several actions at once.
extension [AnyActionHandle] {
  /// Cancels all actions. Every action is marked before the first notification, so that no action begins or fails because of
  /// the end of another.
  func cancelAll() {
    let cancellations = map { $0.markCanceled() }
    for (handle, cancellation) in zip(self, cancellations) { handle.complete(cancellation) }
  }

  /// Calls a block on a queue after all actions have finished.
  func whenAllFinished(on queue: DispatchQueue, _ block: @escaping @Sendable () -> Void) {
    let group = DispatchGroup()
    for handle in self {
      group.enter()
      handle.whenFinished { group.leave() }
    }
    group.notify(queue: queue, execute: block)
  }

  /// Blocks the calling thread until all actions have finished. A wait inside of an action is checked for deadlock.
  ///
  /// - Throws: ``ErrorCode/deadlock``; ``ErrorCode/illegalState`` on the main actor, when an action of the same Connect
  ///   waits for the main actor.
  func waitUntilFinished() throws {
    try AnyActionHandle.current.map { try WaitGraph.begin($0, for: self) }
    defer { AnyActionHandle.current.map { WaitGraph.end($0, for: self) } }
    let done = DispatchSemaphore(value: 0)
    whenAllFinished(on: .waitingForActions) { done.signal() }
    try MainActorWait.block(until: done, for: first?.scheduler)
  }

  /// Suspends the calling task until all actions have finished.
  ///
  /// - Throws: ``ErrorCode/deadlock``.
  func waitUntilFinished() async throws {
    try AnyActionHandle.current.map { try WaitGraph.begin($0, for: self) }
    await withCheckedContinuation { continuation in
      whenAllFinished(on: .waitingForActions) { continuation.resume() }
    }
    AnyActionHandle.current.map { WaitGraph.end($0, for: self) }
  }
}

extension DispatchQueue {
  /// A queue of its own: blocks of the program may occupy every thread of the global queues.
  fileprivate static let waitingForActions = DispatchQueue(label: "connect.queue.waiting", qos: .utility)
}
