import CoherenceCore
public import Foundation
public import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A client that sends requests through a `URLSession`.
///
/// Defaults: redirects are followed, with credentials only within their origin; a request is sent once; the time limit
/// is the session's, 60 s without a byte; six requests to one origin run at once; `send` reads the body into memory
/// without a size limit. ``stream(_:body:)`` and `download(_:body:to:)` keep large bodies out of memory, a maximum size
/// refuses them, and ``TimeLimitedClient`` and ``RetryingClient`` add time limits and retries.
///
/// Cancelling the task cancels the transfer and closes the connection. A body shorter than announced is an error. The
/// client follows redirects itself by its ``HTTPRedirectPolicy``, not by the session, which would send credentials to
/// other origins and lose bodies.
///
/// At most `httpMaximumConnectionsPerHost` requests to one origin run at once: 6 by default, without limit for 0.
/// Further requests wait in order before the session receives them, so that neither the time limits of the session nor
/// that of a ``TimeLimitedClient`` include the wait. Requests of other users of the session are not part of this order:
/// give each client a session of its own.
///
/// - Important: On Linux a server can stop the process: FoundationNetworking up to Swift 6.3.1 traps if a connection
///   ends inside of the head of a reply, if a chunked body has trailers, if a length is nearly 2⁶³, and at a redirect to
///   an IPv6 address without a scheme. A large body of a redirect fills the memory and delays the time limit of the
///   session; a cancelled request and the limit of a ``TimeLimitedClient`` end at once, and the connection possibly
///   later. `URLSession` has no way to prevent it. The `NIOClient` of the product `CoherenceAsyncHTTP` has no such
///   fault; it throws ``ErrorCode/httpTransferFailed``.
public struct URLSessionClient: HTTPClient {
  private let session: URLSession
  /// The session for requests redirected to another origin: adds only portable header fields.
  private let foreignSession: URLSession
  private let redirects: HTTPRedirectPolicy
  /// The maximum number of bytes in a body.
  private let maximumBodySize: Int
  private let queue: TransferQueue

  /// Makes a client without a size limit.
  ///
  /// - Parameters:
  ///   - session: By default a session of the client's own, which stores neither replies nor cookies. The delegate of a
  ///     given session is not called about redirects. On Linux the client uses a session of its own with the same
  ///     configuration, which calls the given session's delegate only for credentials. Header fields of the session's
  ///     configuration are omitted after a redirect to another origin, except for portable fields.
  ///   - redirects: The rules for redirects.
  public init(session: URLSession? = nil, redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()) {
    self.init(
      session.map { TransferSession.make(like: $0) } ?? TransferSession.make(Self.configuration),
      maximumBodySize: .max, redirects)
  }

  /// Makes a client with a session of its own and a size limit. A larger body throws ``ErrorCode/httpBodyTooLarge``.
  ///
  /// - Parameters:
  ///   - maximumBodySize: The maximum number of bytes in a body, after decompression.
  ///   - configuration: The configuration of the session; by default that of ``init(session:redirects:)``.
  ///   - redirects: The rules for redirects.
  public init(
    maximumBodySize: Int, configuration: URLSessionConfiguration? = nil,
    redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) {
    self.init(
      TransferSession.make(configuration ?? Self.configuration), maximumBodySize: maximumBodySize, redirects)
  }

  /// - Parameter session: A session of ``TransferSession``.
  private init(_ session: URLSession, maximumBodySize: Int, _ redirects: HTTPRedirectPolicy) {
    self.session = session
    self.maximumBodySize = maximumBodySize
    self.redirects = redirects
    queue = TransferQueue(limit: session.configuration.httpMaximumConnectionsPerHost)
    foreignSession = Self.foreign(to: session, redirects)
  }

  /// The number of requests that wait for their admission.
  package var waitingCount: Int { queue.waitingCount }

  private static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    return configuration
  }

  /// The session itself, if it adds only portable header fields; otherwise a session without the other fields.
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

  /// Sends a request and reads the whole reply.
  ///
  /// - Throws: ``ErrorCode/httpTransferFailed`` and ``ErrorCode/httpTimedOut`` without a complete reply;
  ///   ``ErrorCode/httpBodyTooLarge``; ``ErrorCode/httpRedirectRefused`` and ``ErrorCode/httpTooManyRedirects``;
  ///   `CancellationError`.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await redirects.reply(to: request, body: body, beginning: begin)
  }

  /// Sends a request and returns at the head of the reply.
  ///
  /// - Throws: The errors of ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await redirects.stream(request, body: body, beginning: begin)
  }

  /// Begins a transfer after its admission, and returns at the head of the reply.
  package func begin(_ hop: HTTPHop, into buffer: BodyBuffer) async throws -> HTTPResponse {
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
