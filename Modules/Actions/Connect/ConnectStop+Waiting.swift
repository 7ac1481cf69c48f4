import CoherenceCore
import Dispatch
import Synchronization

extension ConnectStop {
  /// Blocks until the stop has finished, or until the time limit.
  ///
  /// - Throws: ``ErrorCode/illegalState`` when an action waits for the main actor, which the call would block.
  func wait(within limit: Duration? = nil, of dispatcher: ActionDispatcher) throws -> Result<Void, any Error> {
    let done = DispatchSemaphore(value: 0)
    let waiter = Waiter { _ in done.signal() }
    listen(waiter, within: limit, of: dispatcher)
    try MainActorWait.block(until: done, for: dispatcher)
    return waiter.result ?? .success(())
  }

  /// Calls a block with the outcome, or with an error when the time limit comes first.
  func whenFinished(within limit: Duration?, of dispatcher: ActionDispatcher, _ answer: @escaping Answer) {
    listen(Waiter(answer), within: limit, of: dispatcher)
  }

  private func listen(_ waiter: Waiter, within limit: Duration?, of dispatcher: ActionDispatcher) {
    let timer = limit.map { limit in dispatcher.after(limit) { waiter.answer(.failure(Self.timedOut)) } }
    whenFinished { result in
      timer?.cancel()
      waiter.answer(result)
    }
  }

  private static var timedOut: CoherenceError {
    CoherenceError(
      .timedOut,
      "Actions have not ended within the limit, and the stores stay attached for them; call `stop(.cancel)` to hurry "
        + "them, or `stop` again to go on waiting.", isRetryable: true)
  }

  /// Takes the first outcome.
  private final class Waiter: Sendable {
    private let block: Answer
    private let first = Mutex<Result<Void, any Error>?>(nil)

    init(_ block: @escaping Answer) { self.block = block }

    var result: Result<Void, any Error>? { first.withLock { $0 } }

    func answer(_ result: Result<Void, any Error>) {
      let isFirst = first.withLock { first in
        guard first == nil else { return false }
        first = result
        return true
      }
      if isFirst { block(result) }
    }
  }
}
