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
    // Not the error itself: it has the address in it, query and all.
    let code = (error as? URLError)?.code
    if code == .timedOut { return .failure(failure.timedOut(after: nil)) }
    return .failure(failure.broken(code.map { "URL error \($0.rawValue)" } ?? "the transfer failed"))
  }
}

/// The delegate of one task: has the session hand back as replies what it would act on by itself.
///
/// Sendable, because its state is behind a lock.
private final class TransferDelegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  private let unmetChallenge = Mutex<URLResponse?>(nil)

  /// The reply that asks for credentials, where there are none.
  var unauthorized: URLResponse? { unmetChallenge.withLock { $0 } }

  /// A session would pass credentials on to other hosts, and lose bodies.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  #if canImport(FoundationNetworking)
    /// FoundationNetworking up to Swift 6.3.1 never ends a task whose challenge finds no credential. Elsewhere a session
    /// asks its own delegate for what the delegate of a task does not implement.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let answer: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = { [self] way, credential in
        guard way == .performDefaultHandling, challenge.proposedCredential == nil else {
          return completionHandler(way, credential)
        }
        let response = challenge.failureResponse
        unmetChallenge.withLock { $0 = response }
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
      guard let delegate = session.delegate as? any URLSessionTaskDelegate else {
        return answer(.performDefaultHandling, nil)
      }
      delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: answer)
    }
  #endif
}
