import CoherenceCore
import Dispatch
import Synchronization

/// The waits of the callers of a stop, each with a time limit of its own.
extension ConnectStop {
  /// Blocks the calling thread until the end of the stop or the time limit.
  ///
  /// - Parameter limit: The longest wait; `nil` to wait until the end.
  /// - Returns: The result of the stop; ``ErrorCode/timedOut`` if the time limit passes first.
  /// - Throws: ``ErrorCode/illegalState`` on the main actor when an action waits for the main actor.
  func wait(within limit: Duration? = nil, of dispatcher: ActionDispatcher) throws -> Result<Void, any Error> {
    let done = DispatchSemaphore(value: 0)
    let waiter = Waiter { _ in done.signal() }
    resume(waiter, within: limit, of: dispatcher)
    try MainActorWait.block(until: done, for: dispatcher)
    // The waiter has a result: only its completion ends the wait without an error.
    return waiter.result ?? .success(())
  }

  /// Calls a completion with the result of the stop, or with ``ErrorCode/timedOut`` if the time limit passes first.
  func whenFinished(within limit: Duration?, of dispatcher: ActionDispatcher, _ completion: @escaping Completion) {
    resume(Waiter(completion), within: limit, of: dispatcher)
  }

  /// Resumes a waiter at the end of the stop or at the time limit.
  private func resume(_ waiter: Waiter, within limit: Duration?, of dispatcher: ActionDispatcher) {
    let timer = limit.map { limit in dispatcher.after(limit) { waiter.resume(with: .failure(Self.timedOut)) } }
    whenFinished { result in
      timer?.cancel()
      waiter.resume(with: result)
    }
  }

  private static var timedOut: CoherenceError {
    CoherenceError(
      .timedOut,
      "Actions have not ended within the limit, and the stores stay attached for them; call `stop(.cancel)` to hurry "
        + "them, or `stop` again to go on waiting.", isRetryable: true)
  }

  /// A caller of `stop`, which receives only the first of result and timeout.
  private final class Waiter: Sendable {
    private let completion: Completion
    private let firstResult = Mutex<Result<Void, any Error>?>(nil)

    init(_ completion: @escaping Completion) { self.completion = completion }

    var result: Result<Void, any Error>? { firstResult.withLock { $0 } }

    func resume(with result: Result<Void, any Error>) {
      let isFirst = firstResult.withLock { firstResult in
        guard firstResult == nil else { return false }
        firstResult = result
        return true
      }
      if isFirst { completion(result) }
    }
  }
}
