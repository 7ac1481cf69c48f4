import CoherenceCore
import Foundation
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Talks to servers through a `URLSession`.
///
/// Canceling the task cancels the transfer: the connection is closed, and nothing more of the reply is read. A body
/// that is shorter than the reply announced is an error, never a reply. Redirects are followed by the client itself, as
/// the ``HTTPRedirectPolicy`` says, and never by the session: credentials stay with their origin, and bodies arrive.
///
/// A reply's body is in memory as a whole, and while it comes in, up to twice. A client with a limit of the body's size
/// collects it once, and closes the connection as soon as a body is larger.
public struct URLSessionClient: HTTPClient {
  private let session: URLSession
  /// For requests that redirects lead to another origin: adds only header fields that may go there.
  private let foreignSession: URLSession
  private let redirects: HTTPRedirectPolicy
  /// In bytes. With one, the sessions are those of ``LimitedTransfer``.
  private let maximumBodySize: Int?

  /// - Parameters:
  ///   - session: By default one of its own, which keeps neither replies nor cookies: what to keep is decided by
  ///     ``HTTPValidators`` and the stores. Its time limits are the session's; see also ``TimeLimitedClient``. Its
  ///     delegate is not asked about redirects. Header fields that the session's configuration adds to all requests are
  ///     left out, unless they are portable, where a redirect led to another origin.
  ///   - redirects: Which redirects are followed, and what of a request goes with them.
  public init(session: URLSession? = nil, redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()) {
    let session = session ?? URLSession(configuration: Self.configuration)
    self.session = session
    self.redirects = redirects
    maximumBodySize = nil
    foreignSession = Self.foreign(to: session, redirects)
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
    session = LimitedTransfer.makeSession(configuration ?? Self.configuration)
    self.redirects = redirects
    self.maximumBodySize = maximumBodySize
    foreignSession = Self.foreign(to: session, redirects)
  }

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
    return URLSession(
      configuration: configuration, delegate: session.delegate, delegateQueue: session.delegateQueue)
  }

  /// - Throws: ``ErrorCode/httpTransferFailed`` and ``ErrorCode/httpTimedOut`` when there is no complete reply;
  ///   ``ErrorCode/httpBodyTooLarge``; ``ErrorCode/httpRedirectRefused`` and ``ErrorCode/httpTooManyRedirects``;
  ///   `CancellationError`.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await redirects.send(request, body: body) { hop in try await exchange(hop) }
  }

  private func exchange(_ hop: HTTPHop) async throws -> HTTPReply {
    let failure = HTTPFailure(to: hop.request)
    guard var urlRequest = URLRequest(httpRequest: hop.request) else {
      throw failure.broken("the request has no complete address", isRetryable: false)
    }
    urlRequest.httpBody = hop.body
    let (data, response) = try await transfer(urlRequest, hop.hasLeftOrigin ? foreignSession : session, failure)
    guard let response = (response as? HTTPURLResponse)?.httpResponse else {
      throw failure.broken("it does not speak HTTP", isRetryable: false)
    }
    let reply = HTTPReply(to: hop.request, response: response, body: data)
    try Self.checkLength(of: reply, failure)
    return reply
  }

  private func transfer(
    _ request: URLRequest, _ session: URLSession, _ failure: HTTPFailure
  ) async throws -> (Data, URLResponse?) {
    if let maximumBodySize {
      return try await LimitedTransfer(request, session, limit: maximumBodySize, failure).result()
    }
    return try await SessionTransfer(request, session, failure).result()
  }

  /// Not every system reports a connection that was cut in the middle of a body.
  private static func checkLength(of reply: HTTPReply, _ failure: HTTPFailure) throws {
    let fields = reply.response.headerFields
    // What was compressed is longer now than it was on its way.
    guard Self.comesWhole(reply), fields[.contentEncoding] == nil,
      let announced = fields[.contentLength].flatMap({ Int($0) }), reply.body.count < announced
    else { return }
    throw failure.broken("the connection broke after \(reply.body.count) of \(announced) bytes")
  }

  /// Whether the body is handed out as it was announced. Not every system does so with redirects and challenges.
  private static func comesWhole(_ reply: HTTPReply) -> Bool {
    reply.request.method != .head && reply.status.kind != .redirection && reply.status != .unauthorized
  }
}
