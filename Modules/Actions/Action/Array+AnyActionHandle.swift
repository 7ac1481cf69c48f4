import Dispatch

/// Many actions at once.
extension [AnyActionHandle] {
  /// Cancels all of them. None begins, or fails, because another one ended before its own turn to be canceled came.
  func cancelAll() {
    let cancellations = map { $0.markCanceled() }
    for (handle, cancellation) in zip(self, cancellations) { handle.follow(cancellation) }
  }

  /// Calls a block on a queue once all of them have finished.
  func whenAllFinished(on queue: DispatchQueue, _ block: @escaping @Sendable () -> Void) {
    let group = DispatchGroup()
    for handle in self {
      group.enter()
      handle.whenFinished { group.leave() }
    }
    group.notify(queue: queue, execute: block)
  }

  /// Not a global queue, all of whose threads may be taken by blocks of the program that block.
  private static var waiting: DispatchQueue { .waitingForActions }

  /// Waits for all of them, on behalf of the action that the caller may be part of.
  ///
  /// - Throws: ``ErrorCode/actionWaitsForItself``; ``ErrorCode/illegalState`` on the main actor, when one of the actions
  ///   waits for the main actor.
  func waitUntilFinished() throws {
    try AnyActionHandle.current.map { try WaitGraph.begin($0, for: self) }
    defer { AnyActionHandle.current.map { WaitGraph.end($0, for: self) } }
    let done = DispatchSemaphore(value: 0)
    whenAllFinished(on: Self.waiting) { done.signal() }
    try BlockedMain.wait(for: done, of: first?.dispatcher)
  }

  /// Waits for all of them without blocking a thread.
  ///
  /// - Throws: ``ErrorCode/actionWaitsForItself``.
  func waitUntilFinished() async throws {
    try AnyActionHandle.current.map { try WaitGraph.begin($0, for: self) }
    await withCheckedContinuation { continuation in whenAllFinished(on: Self.waiting) { continuation.resume() } }
    AnyActionHandle.current.map { WaitGraph.end($0, for: self) }
  }
}

extension DispatchQueue {
  fileprivate static let waitingForActions = DispatchQueue(label: "connect.queue.waiting", qos: .utility)
}
