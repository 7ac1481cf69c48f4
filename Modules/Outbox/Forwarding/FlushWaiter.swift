import Synchronization

/// A call of ``Outbox/flush(waitsForOthers:)`` that waits for the loop of the forwarder. The cancellation of its task
/// ends the wait early.
final class FlushWaiter: Sendable {
  private enum State {
    case notSuspended
    case suspended(CheckedContinuation<Int?, any Error>)
    case resumed(Result<Int?, any Error>)
  }

  private let state = Mutex(State.notSuspended)

  /// Whether the wait has ended.
  var hasEnded: Bool { state.withLock { if case .resumed = $0 { true } else { false } } }

  /// Suspends the task of a continuation until `resume` is called, or resumes the continuation if it was called before.
  func suspend(_ continuation: CheckedContinuation<Int?, any Error>) {
    let result = state.withLock { state -> Result<Int?, any Error>? in
      if case .resumed(let result) = state { return result }
      state = .suspended(continuation)
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  /// Resumes the task with a result. Only the first call has an effect, even before `suspend`.
  func resume(with result: Result<Int?, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Int?, any Error>? in
      switch state {
      case .notSuspended:
        state = .resumed(result)
        return nil
      case .suspended(let continuation):
        state = .resumed(result)
        return continuation
      case .resumed:
        return nil
      }
    }
    continuation?.resume(with: result)
  }
}
