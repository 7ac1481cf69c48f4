import Synchronization

/// Somebody who waits for the end of an action, and may give up waiting before.
final class FinishWait: Sendable {
  private enum State {
    case fresh
    case waiting(CheckedContinuation<Void, any Error>)
    case over(Result<Void, any Error>)
  }

  private let state = Mutex(State.fresh)

  /// Suspends the task of a continuation until the wait is over.
  func begin(_ continuation: CheckedContinuation<Void, any Error>) {
    let result = state.withLock { state -> Result<Void, any Error>? in
      if case .over(let result) = state { return result }
      state = .waiting(continuation)
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  /// Ends the wait. The first end counts, also one that comes before the wait has begun.
  func end(_ result: Result<Void, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      switch state {
      case .fresh:
        state = .over(result)
        return nil
      case .waiting(let continuation):
        state = .over(result)
        return continuation
      case .over:
        return nil
      }
    }
    continuation?.resume(with: result)
  }
}
