import CoherenceCore
import Dispatch
import Synchronization

/// One stop of a Connect. Callers of `stop` share the stop until its end. The exception is an asynchronous stop behind
/// an asynchronous start that waits for this stop, see ``ConnectLifecycle/waitingStartCount``.
final class ConnectStop: Sendable {
  typealias Completion = @Sendable (Result<Void, any Error>) -> Void

  private let content = Mutex(Content())

  private struct Content {
    /// The accepted and unfinished actions at the start of the stop.
    var handles: [AnyActionHandle] = []
    var result: Result<Void, any Error>?
    var completions: [Completion] = []
  }

  /// Sets the actions that the stop waits for.
  func setActions(_ handles: [AnyActionHandle]) { content.withLock { $0.handles = handles } }

  /// Records that a caller waits for the actions; `nil` for no caller.
  ///
  /// - Throws: ``ErrorCode/deadlock`` when one of the actions waits for the caller.
  func beginWait(of waiter: WaitGraph.Waiter?) throws -> WaitGraph.Wait? {
    try waiter?.beginWait(for: content.withLock { $0.handles })
  }

  /// Calls a block on a queue after all actions have finished.
  func whenActionsFinished(on queue: DispatchQueue, _ block: @escaping @Sendable () -> Void) {
    content.withLock { $0.handles }.whenAllFinished(on: queue, block)
  }

  /// Cancels all actions.
  func cancelAll() {
    content.withLock { $0.handles }.cancelAll()
  }

  /// Cancels the actions that wait in a suspended queue, because a draining stop would wait until the queue is resumed.
  func cancelSuspended() {
    for handle in content.withLock({ $0.handles }) where handle.isPending && handle.queue.isSuspended {
      handle.cancel()
    }
  }

  /// Ends the stop, and calls the completions with the result of detaching the stores.
  func finish(_ result: Result<Void, any Error>) {
    let completions = content.withLock { content in
      content.result = result
      content.handles = []
      defer { content.completions = [] }
      return content.completions
    }
    for completion in completions { completion(result) }
  }

  /// Calls a completion with the result at the end of the stop: at once, if the stop has ended.
  func whenFinished(_ completion: @escaping Completion) {
    let result = content.withLock { content in
      if content.result == nil { content.completions.append(completion) }
      return content.result
    }
    if let result { completion(result) }
  }
}
