import CoherenceCore
import Foundation
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Talks to servers through a `URLSession`.
///
/// Canceling the task cancels the transfer: the connection is closed, and nothing more of the reply is read. A body that
/// is shorter than the reply announced is an error, never a reply.
public struct URLSessionClient: HTTPClient {
  private let session: URLSession

  /// - Parameter session: By default one of its own, which keeps neither replies nor cookies: what to keep is decided by
  ///   ``HTTPValidators`` and the stores. Its time limits are the session's; see also ``TimeLimitedClient``.
  public init(session: URLSession? = nil) {
    self.session = session ?? URLSession(configuration: Self.configuration)
  }

  private static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    return configuration
  }

  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let failure = HTTPFailure(to: request)
    guard var urlRequest = URLRequest(httpRequest: request) else {
      throw failure.broken("the request has no complete address", isRetryable: false)
    }
    urlRequest.httpBody = body
    let (data, response) = try await Transfer(urlRequest, session, failure).result()
    guard let response = (response as? HTTPURLResponse)?.httpResponse else {
      throw failure.broken("it does not speak HTTP", isRetryable: false)
    }
    let reply = HTTPReply(to: request, response: response, body: data)
    try Self.checkLength(of: reply, failure)
    return reply
  }

  /// Not every system reports a connection that was cut in the middle of a body.
  private static func checkLength(of reply: HTTPReply, _ failure: HTTPFailure) throws {
    let fields = reply.response.headerFields
    // What was compressed is longer now than it was on its way.
    guard reply.request.method != .head, reply.status != .notModified, fields[.contentEncoding] == nil,
      let announced = fields[.contentLength].flatMap({ Int($0) }), reply.body.count < announced
    else { return }
    throw failure.broken("the connection broke after \(reply.body.count) of \(announced) bytes")
  }
}

/// One request on its way.
private final class Transfer: Sendable {
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
    let task = session.dataTask(with: request) { [self] data, response, error in
      continuation.resume(with: outcome(data, response, error))
    }
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
