import CoherenceCore
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on its way through a session, which follows no redirect.
final class SessionTransfer: Sendable {
  private let request: URLRequest
  private let session: URLSession
  private let failure: HTTPFailure
  private let state = Mutex(State.waiting)

  private enum State {
    case waiting
    case running(URLSessionTask)
    case cancelled
  }

  init(_ request: URLRequest, _ session: URLSession, _ failure: HTTPFailure) {
    self.request = request
    self.session = session
    self.failure = failure
  }

  func result() async throws -> (Data, URLResponse?) {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in start(continuation) }
    } onCancel: {
      cancel()
    }
  }

  private func start(_ continuation: CheckedContinuation<(Data, URLResponse?), any Error>) {
    let delegate = TransferDelegate()
    let task = session.dataTask(with: request) { [self] data, response, error in
      let unauthorized = delegate.unauthorized
      continuation.resume(with: outcome(data, unauthorized ?? response, unauthorized == nil ? error : nil))
    }
    // Before the task begins: later is too late.
    task.delegate = delegate
    let mayRun = state.withLock { state in
      if case .cancelled = state { return false }
      state = .running(task)
      return true
    }
    // A task that was never begun does not call back.
    if mayRun { task.resume() } else { continuation.resume(throwing: CancellationError()) }
  }

  private func cancel() {
    let task: URLSessionTask? = state.withLock { state in
      defer { state = .cancelled }
      if case .running(let task) = state { return task }
      return nil
    }
    task?.cancel()
  }

  private var isCancelled: Bool {
    state.withLock { state in
      if case .cancelled = state { return true }
      return false
    }
  }

  private func outcome(
    _ data: Data?, _ response: URLResponse?, _ error: (any Error)?
  ) -> Result<(Data, URLResponse?), any Error> {
    guard let error else { return .success((data ?? Data(), response)) }
    if isCancelled { return .failure(CancellationError()) }
    return .failure(failure.broken(by: error))
  }
}
