import CoherenceCore
public import Foundation
public import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Talks to servers through a `URLSession`.
///
/// By default, redirects are followed, with credentials only within their origin; a request is sent once; no time limit
/// but the session's counts, 60 s without a byte; six requests to one origin run at once; and a reply's body is in memory
/// as a whole, whatever its size. ``stream(_:body:)`` and `download(_:body:to:)` keep large bodies out of memory, a
/// maximum size refuses them, ``TimeLimitedClient`` and ``RetryingClient`` add limits and retries.
///
/// Canceling the task cancels the transfer: the connection is closed, and nothing more of the reply is read. A body
/// that is shorter than the reply announced is an error, never a reply. Redirects are followed by the client itself, as
/// the ``HTTPRedirectPolicy`` says, and never by the session: credentials stay with their origin, and bodies arrive.
///
/// At most `httpMaximumConnectionsPerHost` requests to one origin run at once, 6 unless the session's configuration says
/// otherwise; 0 is no limit. The client lets the others wait, in their order, before the session gets them: a time limit
/// counts from the turn of a request, be it a ``TimeLimitedClient``'s or the session's own. Requests that others send
/// through the same session are not in this order: give each client a session of its own.
public struct URLSessionClient: HTTPClient {
  private let session: URLSession
  /// For requests that redirects lead to another origin: adds only header fields that may go there.
  private let foreignSession: URLSession
  private let redirects: HTTPRedirectPolicy
  /// In bytes.
  private let maximumBodySize: Int
  private let queue: TransferQueue

  /// - Parameters:
  ///   - session: By default one of its own, which keeps neither replies nor cookies: what to keep is decided by
  ///     ``HTTPValidators`` and the stores. Its time limits are the session's; see also ``TimeLimitedClient``. Its
  ///     delegate is not asked about redirects. On Linux the client makes itself a session with the same configuration,
  ///     which asks the delegate of the given one for credentials and for nothing else. Header fields that the session's configuration adds to all requests are
  ///     left out, unless they are portable, where a redirect led to another origin.
  ///   - redirects: Which redirects are followed, and what of a request goes with them.
  public init(session: URLSession? = nil, redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()) {
    self.init(
      session.map { TransferSession.make(like: $0) } ?? TransferSession.make(Self.configuration),
      maximumBodySize: .max, redirects)
  }

  /// A client with a session of its own that reads no body beyond a limit.
  ///
  /// - Parameters:
  ///   - maximumBodySize: In bytes, as they are when nothing is compressed any more.
  ///   - configuration: The session's; by default that of ``init(session:redirects:)``.
  ///   - redirects: Which redirects are followed, and what of a request goes with them.
  public init(
    maximumBodySize: Int, configuration: URLSessionConfiguration? = nil,
    redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) {
    self.init(
      TransferSession.make(configuration ?? Self.configuration), maximumBodySize: maximumBodySize, redirects)
  }

  /// - Parameter session: One that ``TransferSession`` made.
  private init(_ session: URLSession, maximumBodySize: Int, _ redirects: HTTPRedirectPolicy) {
    self.session = session
    self.maximumBodySize = maximumBodySize
    self.redirects = redirects
    queue = TransferQueue(limit: session.configuration.httpMaximumConnectionsPerHost)
    foreignSession = Self.foreign(to: session, redirects)
  }

  /// How many requests wait for their turn.
  package var waitingCount: Int { queue.waitingCount }

  private static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    return configuration
  }

  /// The session itself, if all that it adds to requests may go to other origins; one like it otherwise.
  private static func foreign(to session: URLSession, _ redirects: HTTPRedirectPolicy) -> URLSession {
    let fields = session.configuration.httpAdditionalHeaders ?? [:]
    let portable = fields.filter { field in (field.key as? String).map { redirects.isPortable($0) } ?? false }
    // A copy: the configuration itself may still be the session's.
    guard portable.count < fields.count,
      let configuration = session.configuration.copy() as? URLSessionConfiguration
    else { return session }
    configuration.httpAdditionalHeaders = portable
    return TransferSession.make(like: session, configuration)
  }

  /// - Throws: ``ErrorCode/httpTransferFailed`` and ``ErrorCode/httpTimedOut`` when there is no complete reply;
  ///   ``ErrorCode/httpBodyTooLarge``; ``ErrorCode/httpRedirectRefused`` and ``ErrorCode/httpTooManyRedirects``;
  ///   `CancellationError`.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await redirects.send(request, body: body) { hop in
      let buffer = BodyBuffer(memorySize: .max)
      let response = try await begin(hop, into: buffer)
      return HTTPReply(to: hop.request, response: response, body: try await buffer.collected())
    }
  }

  /// - Throws: As ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await redirects.send(request, body: body) { hop in
      let buffer = BodyBuffer()
      return HTTPStream(to: hop.request, response: try await begin(hop, into: buffer), body: HTTPBody(buffer))
    }
  }

  /// Begins a transfer when its turn comes, and returns when the head of its reply is there.
  private func begin(_ hop: HTTPHop, into buffer: BodyBuffer) async throws -> HTTPResponse {
    let failure = HTTPFailure(to: hop.request)
    guard var request = URLRequest(httpRequest: hop.request) else {
      throw failure.broken("the request has no complete address", isRetryable: false)
    }
    request.httpBody = hop.body
    let permit = try await queue.admit(to: hop.request.url.flatMap(HTTPOrigin.init))
    let transfer = SessionTransfer(
      request, hop.hasLeftOrigin ? foreignSession : session, into: buffer, limit: maximumBodySize, permit: permit,
      failure)
    guard let response = (try await transfer.response() as? HTTPURLResponse)?.httpResponse else {
      let error = failure.broken("it does not speak HTTP", isRetryable: false)
      buffer.cancel(error)
      throw error
    }
    return response
  }
}
