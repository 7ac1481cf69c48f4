import Dispatch

/// Operations on several actions at once.
extension [AnyActionHandle] {
  /// Cancels all actions. Every action is marked before the first notification, so that no action begins or fails
  /// because of the end of another action.
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
  /// - Parameter isCanceling: Whether the actions are cancelled first. After a deadlock none is cancelled.
  /// - Throws: ``ErrorCode/deadlock``; ``ErrorCode/illegalState`` on the main actor, when an action of the same Connect
  ///   waits for the main actor.
  func waitUntilFinished(canceling isCanceling: Bool) throws {
    let wait = try beginWait(canceling: isCanceling)
    defer { wait?.end() }
    let done = DispatchSemaphore(value: 0)
    whenAllFinished(on: .waitingForActions) { done.signal() }
    try MainActorWait.block(until: done, for: first?.scheduler)
  }

  /// Suspends the calling task until all actions have finished; see the blocking form.
  ///
  /// - Throws: ``ErrorCode/deadlock``.
  func waitUntilFinished(canceling isCanceling: Bool) async throws {
    let wait = try beginWait(canceling: isCanceling)
    defer { wait?.end() }
    await withCheckedContinuation { continuation in
      whenAllFinished(on: .waitingForActions) { continuation.resume() }
    }
  }

  /// Records the wait of the caller, and then cancels the actions if the caller asks for it. The record comes first, so
  /// that a wait that would never end cancels nothing.
  ///
  /// - Returns: The record, which the caller ends; `nil` for a caller outside of actions and of other awaited work.
  /// - Throws: ``ErrorCode/deadlock``.
  private func beginWait(canceling isCanceling: Bool) throws -> WaitGraph.Wait? {
    let wait = try WaitGraph.Waiter.current?.beginWait(for: self, canceling: isCanceling)
    if isCanceling { cancelAll() }
    return wait
  }
}

extension DispatchQueue {
  /// A queue of its own: blocks of the program may occupy every thread of the global queues.
  fileprivate static let waitingForActions = DispatchQueue(label: "connect.queue.waiting", qos: .utility)
}
