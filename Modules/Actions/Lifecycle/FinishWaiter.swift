import Synchronization

/// One task that waits for the end of an action, and whose cancellation ends the wait early.
final class FinishWaiter: Sendable {
  private enum State {
    case notSuspended
    case suspended(CheckedContinuation<Void, any Error>)
    case resumed(Result<Void, any Error>)
  }

  private let state = Mutex(State.notSuspended)

  /// Suspends the task of a continuation until `resume` is called, or resumes the continuation if it was called before.
  func suspend(_ continuation: CheckedContinuation<Void, any Error>) {
    let result = state.withLock { state -> Result<Void, any Error>? in
      if case .resumed(let result) = state { return result }
      state = .suspended(continuation)
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  /// Resumes the task with a result. Only the first call has an effect, even before `suspend`.
  func resume(with result: Result<Void, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
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
