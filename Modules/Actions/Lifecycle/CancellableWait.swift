import Synchronization

/// The wait of one task for a value or an error. The cancellation of the task may end the wait early.
package final class CancellableWait<Value: Sendable>: Sendable {
  private enum State {
    case notSuspended
    case suspended(CheckedContinuation<Value, any Error>)
    case resumed(Result<Value, any Error>)
  }

  private let state = Mutex(State.notSuspended)

  package init() {}

  /// Whether the wait has ended.
  package var hasEnded: Bool { state.withLock { if case .resumed = $0 { true } else { false } } }

  /// Suspends the task of a continuation until `resume` is called, or resumes the continuation if it was called before.
  package func suspend(_ continuation: CheckedContinuation<Value, any Error>) {
    let result = state.withLock { state -> Result<Value, any Error>? in
      if case .resumed(let result) = state { return result }
      state = .suspended(continuation)
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  /// Resumes the task with a result. Only the first call has an effect, even before `suspend`.
  package func resume(with result: Result<Value, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
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
