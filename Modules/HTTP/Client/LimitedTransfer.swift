import CoherenceCore
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on its way through a session, which follows no redirect, and reads no more of a body than is allowed.
final class LimitedTransfer: TransferDelegate, URLSessionDataDelegate, @unchecked Sendable {
  // Sendable: the only state is behind a lock.
  private let request: URLRequest
  private let session: URLSession
  private let limit: Int
  private let failure: HTTPFailure
  private let state = Mutex(State())

  private struct State {
    var body = Data()
    var continuation: CheckedContinuation<(Data, URLResponse?), any Error>?
    var task: URLSessionTask?
    var isCancelled = false
    var isTooLarge = false
  }

  /// - Parameters:
  ///   - session: One that ``makeSession(_:)`` made.
  ///   - limit: In bytes.
  init(_ request: URLRequest, _ session: URLSession, limit: Int, _ failure: HTTPFailure) {
    self.request = request
    self.session = session
    self.limit = limit
    self.failure = failure
  }

  static func makeSession(_ configuration: URLSessionConfiguration) -> URLSession {
    #if canImport(FoundationNetworking)
      URLSession(configuration: configuration, delegate: TaskDelegateRouter(), delegateQueue: nil)
    #else
      URLSession(configuration: configuration)
    #endif
  }

  func result() async throws -> (Data, URLResponse?) {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in start(continuation) }
    } onCancel: {
      cancel()
    }
  }

  private func start(_ continuation: CheckedContinuation<(Data, URLResponse?), any Error>) {
    let task = session.dataTask(with: request)
    task.delegate = self
    let mayRun = state.withLock { state in
      if state.isCancelled { return false }
      state.continuation = continuation
      state.task = task
      return true
    }
    // A task that was never begun does not call back.
    if mayRun { task.resume() } else { continuation.resume(throwing: CancellationError()) }
  }

  private func cancel() {
    let task: URLSessionTask? = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  // MARK: Callbacks of the session

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    // Not `.cancel`, which FoundationNetworking pays no heed to.
    completionHandler(.allow)
    if request.httpMethod != "HEAD", response.expectedContentLength > Int64(limit) { refuse(dataTask) }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let fits = state.withLock { state in
      guard !state.isTooLarge, data.count <= limit - state.body.count else { return false }
      state.body.append(data)
      return true
    }
    if !fits { refuse(dataTask) }
  }

  private func refuse(_ task: URLSessionTask) {
    let isFirst = state.withLock { state in
      defer {
        state.isTooLarge = true
        state.body = Data()
      }
      return !state.isTooLarge
    }
    if isFirst { task.cancel() }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let end = state.withLock { state in
      defer {
        // The task keeps this object as its delegate.
        state.task = nil
        state.continuation = nil
      }
      return state
    }
    end.continuation?.resume(with: outcome(end, task.response, error))
  }

  private func outcome(
    _ end: State, _ response: URLResponse?, _ error: (any Error)?
  ) -> Result<(Data, URLResponse?), any Error> {
    if end.isTooLarge { return .failure(failure.bodyTooLarge(limit)) }
    guard let error, unauthorized == nil else { return .success((end.body, unauthorized ?? response)) }
    if end.isCancelled { return .failure(CancellationError()) }
    return .failure(failure.broken(by: error))
  }
}

#if canImport(FoundationNetworking)
  /// Passes on to the delegates of tasks what FoundationNetworking tells the session's delegate alone.
  ///
  /// Sendable, because it has no state.
  private final class TaskDelegateRouter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      guard let transfer = dataTask.delegate as? LimitedTransfer else { return completionHandler(.allow) }
      transfer.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard let transfer = dataTask.delegate as? LimitedTransfer else { return }
      transfer.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let transfer = task.delegate as? LimitedTransfer else { return }
      transfer.urlSession(session, task: task, didCompleteWithError: error)
    }
  }
#endif
