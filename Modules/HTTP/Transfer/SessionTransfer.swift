import CoherenceCore
import Foundation
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transfer of one request by a session, without redirects and with a size limit for the body.
final class SessionTransfer: TransferDelegate, URLSessionDataDelegate, @unchecked Sendable {
  // Sendable: the only state is behind a lock, and all other properties are immutable and Sendable.
  private let request: URLRequest
  private let session: URLSession
  private let buffer: BodyBuffer
  private let limit: Int
  private let permit: TransferPermit
  /// The facts about the request, of which errors are made.
  private let failure: HTTPFailure
  private let state = Mutex(State())

  private struct State {
    /// The caller of `response`, until the head is returned.
    var continuation: CheckedContinuation<URLResponse?, any Error>?
    var task: URLSessionTask?
    /// The number of received bytes of the body.
    var size = 0
    /// Whether the reply is a challenge: the session may send credentials and replace the reply by another.
    var isProvisional = false
    var isCanceled = false
    var isTooLarge = false
  }

  /// - Parameters:
  ///   - session: A session of ``TransferSession``.
  ///   - buffer: Receives the body.
  ///   - limit: The maximum number of bytes in the body.
  ///   - permit: Released at the end of the transfer.
  init(
    _ request: URLRequest, _ session: URLSession, into buffer: BodyBuffer, limit: Int, permit: TransferPermit,
    _ failure: HTTPFailure
  ) {
    self.request = request
    self.session = session
    self.buffer = buffer
    self.limit = limit
    self.permit = permit
    self.failure = failure
  }

  /// Begins the transfer and returns the head of the reply. The body may arrive later.
  func response() async throws -> URLResponse? {
    buffer.whenCanceled { [weak self] in self?.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in start(continuation) }
    } onCancel: {
      cancel()
    }
  }

  private func start(_ continuation: CheckedContinuation<URLResponse?, any Error>) {
    let isCanceled = state.withLock { state in
      if !state.isCanceled { state.continuation = continuation }
      return state.isCanceled
    }
    if isCanceled { return continuation.resume(throwing: CancellationError()) }
    TransferSession.perform { self.startTask() }
  }

  /// Makes and starts the task, unless the transfer has been cancelled meanwhile. A task that is never started makes no
  /// callbacks.
  private func startTask() {
    if state.withLock({ $0.isCanceled }) { return }
    let task = session.dataTask(with: request)
    // The session reads the delegate when the task begins.
    task.delegate = self
    let mayRun = state.withLock { state in
      if !state.isCanceled { state.task = task }
      return !state.isCanceled
    }
    if mayRun { task.resume() }
  }

  /// Cancels the task and ends the transfer at once, because the session may end the task late or never:
  /// FoundationNetworking, for example, reads the body of a redirect before it calls back. The callbacks after this call
  /// find no caller.
  private func cancel() {
    let (task, continuation) = state.withLock { state in
      state.isCanceled = true
      defer { state.task = nil }
      return (state.task, takeContinuation(from: &state))
    }
    if let task { TransferSession.perform { task.cancel() } }
    permit.release()
    // The error of a buffer that failed before is the cause. A body that completes at the same time has no head.
    let end = buffer.finish(.failure(CancellationError()))
    let reply: Result<URLResponse?, any Error> = end.flatMap { _ in .failure(CancellationError()) }
    continuation?.resume(with: reply)
  }

  // MARK: Callbacks of the session

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    // Not `.cancel`, which FoundationNetworking ignores.
    completionHandler(.allow)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    // FoundationNetworking reports an informational response, such as 103 Early Hints, before the reply that follows it.
    if 100..<200 ~= status, status != 101 { return }
    let isProvisional = status == 401
    // The length of a reply without a body is that of the body of a GET. The length of a compressed body does not limit
    // the size of the decompressed body, which alone counts.
    let isTooLarge =
      request.httpMethod != "HEAD" && ![204, 304].contains(status) && !Self.isCompressed(response)
      && response.expectedContentLength > Int64(limit)
    let continuation = state.withLock { state in
      if state.isProvisional {
        state.size = 0
        buffer.restart()
      }
      state.isProvisional = isProvisional
      // The head of a challenge is returned at the end of the task, unless another reply replaces it.
      return isProvisional || isTooLarge ? nil : takeContinuation(from: &state)
    }
    if isTooLarge { refuse(dataTask) } else { continuation?.resume(returning: response) }
  }

  private static func isCompressed(_ response: URLResponse) -> Bool {
    (response as? HTTPURLResponse)?.httpResponse?.headerFields[.contentEncoding] != nil
  }

  private func takeContinuation(from state: inout State) -> CheckedContinuation<URLResponse?, any Error>? {
    defer { state.continuation = nil }
    return state.continuation
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let fits = state.withLock { state in
      guard !state.isTooLarge, data.count <= limit - state.size else { return false }
      state.size += data.count
      return true
    }
    if fits { buffer.write(data) } else { refuse(dataTask) }
  }

  /// Cancels the task of a body above the limit, once.
  private func refuse(_ task: URLSessionTask) {
    let isFirst = state.withLock { state in
      defer { state.isTooLarge = true }
      return !state.isTooLarge
    }
    // Later, because `cancel` waits for the queue of this callback.
    if isFirst { TransferSession.perform { task.cancel() } }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let response = unauthorized ?? task.response
    let (result, continuation) = state.withLock { state in
      // The task retains this object as its delegate: break the cycle.
      state.task = nil
      return (outcome(state, response, error), takeContinuation(from: &state))
    }
    permit.release()
    let end = buffer.finish(result)
    continuation?.resume(with: end.map { response })
  }

  /// The end of the body: complete, or the error of the transfer.
  private func outcome(_ end: State, _ response: URLResponse?, _ error: (any Error)?) -> Result<Void, any Error> {
    if end.isTooLarge { return .failure(failure.bodyTooLarge(limit)) }
    // An unmet challenge ends the task with an error, and is a reply nevertheless.
    if let error, unauthorized == nil {
      return .failure(end.isCanceled ? CancellationError() : failure.broken(by: error))
    }
    return Result { try checkLength(end.size, of: response) }
  }

  /// Checks the length of the body, because not every system reports a connection that broke within a body.
  private func checkLength(_ size: Int, of response: URLResponse?) throws {
    guard let response = (response as? HTTPURLResponse)?.httpResponse, comesWhole(response) else { return }
    // The announced length is that of the compressed body.
    guard response.headerFields[.contentEncoding] == nil,
      let announced = response.headerFields[.contentLength].flatMap({ Int($0) }), size < announced
    else { return }
    throw failure.broken("the connection broke after \(size) of \(announced) bytes")
  }

  /// Whether the session delivers the body in its announced length. Not every system does for redirects and challenges,
  /// and the replies to HEAD requests and those without content have no body.
  private func comesWhole(_ response: HTTPResponse) -> Bool {
    request.httpMethod != "HEAD" && response.status.kind != .redirection && response.status != .noContent
      && response.status != .unauthorized
  }
}
