import Dispatch

/// Many actions at once.
extension [AnyActionHandle] {
  /// Cancels all of them: first those that wait, lest one of them begins because another one made room.
  func cancelAll() {
    for handle in self where handle.isPending { handle.cancel() }
    for handle in self { handle.cancel() }
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

  /// Waits for all of them, on behalf of the action that the caller may be part of.
  ///
  /// - Throws: ``ErrorCode/actionWaitsForItself``.
  func waitUntilFinished() throws {
    try AnyActionHandle.current.map { try WaitGraph.begin($0, for: self) }
    let done = DispatchSemaphore(value: 0)
    whenAllFinished(on: .global()) { done.signal() }
    done.wait()
    AnyActionHandle.current.map { WaitGraph.end($0, for: self) }
  }

  /// Waits for all of them without blocking a thread.
  ///
  /// - Throws: ``ErrorCode/actionWaitsForItself``.
  func waitUntilFinished() async throws {
    try AnyActionHandle.current.map { try WaitGraph.begin($0, for: self) }
    await withCheckedContinuation { continuation in whenAllFinished(on: .global()) { continuation.resume() } }
    AnyActionHandle.current.map { WaitGraph.end($0, for: self) }
  }
}
