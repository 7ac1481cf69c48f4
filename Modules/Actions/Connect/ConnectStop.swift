import CoherenceCore
import Dispatch
import Synchronization

/// One stop of a Connect, shared by all callers of `stop` until its end.
final class ConnectStop: Sendable {
  typealias Answer = @Sendable (Result<Void, any Error>) -> Void

  private let content = Mutex(Content())

  private struct Content {
    var handles: [AnyActionHandle] = []
    var result: Result<Void, any Error>?
    var answers: [Answer] = []
  }

  /// These are the actions to wait for.
  func note(_ handles: [AnyActionHandle]) { content.withLock { $0.handles = handles } }

  /// Calls a block on the queue when all actions have finished.
  func whenActionsFinished(on queue: DispatchQueue, _ block: @escaping @Sendable () -> Void) {
    content.withLock { $0.handles }.whenAllFinished(on: queue, block)
  }

  /// Ends draining.
  func cancelAll() {
    content.withLock { $0.handles }.cancelAll()
  }

  /// Cancels the actions that wait in a suspended queue, which could not run before the queue is resumed.
  func cancelSuspended() {
    for handle in content.withLock({ $0.handles }) where handle.isPending && handle.queue.isSuspended {
      handle.cancel()
    }
  }

  /// The stores are detached.
  func finish(_ result: Result<Void, any Error>) {
    let answers = content.withLock { content in
      content.result = result
      content.handles = []
      defer { content.answers = [] }
      return content.answers
    }
    for answer in answers { answer(result) }
  }

  /// Calls a block with the outcome: at once, if it is known.
  func whenFinished(_ answer: @escaping Answer) {
    let result = content.withLock { content in
      if content.result == nil { content.answers.append(answer) }
      return content.result
    }
    if let result { answer(result) }
  }
}
