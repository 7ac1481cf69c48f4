public import AsyncHTTPClient
import CoherenceCore
public import CoherenceHTTP
public import Foundation
public import HTTPTypes
import HTTPTypesFoundation
import NIOCore
import NIOHTTPCompression

/// An HTTP client with the connections of AsyncHTTPClient, on SwiftNIO.
///
/// Defaults: as with `URLSessionClient`, redirects are followed, with credentials only within their origin; a request
/// is sent once; the time limit is 60 s without a byte; six requests to one origin run at once; `send` reads the body
/// into memory without a size limit; a reply compressed by gzip or deflate is decompressed; cookies and replies are not
/// stored. `retrying`, `limited(to:)`, `download(_:body:to:)` and the recorders of `CoherenceHTTP` work with this
/// client too.
///
/// No server can crash the program: a connection that ends at any byte of a reply, even in its head, is an
/// `httpTransferFailed`. FoundationNetworking, and with it `URLSessionClient` on Linux, crashes if a connection ends
/// inside of a reply's head, or if a chunked body has trailers.
///
/// Cancelling the task cancels the transfer and closes the connection. A body shorter than announced is an error. The
/// client reads a body at the speed of the network and writes the unread part to a file, like `URLSessionClient`; the
/// server waits while the file is written, so that the memory does not depend on the size of the body.
///
/// Requests and replies are those of HTTP/1.1, also with servers that offer HTTP/2: with HTTP/2, the library ends the
/// process after a status such as 050.
///
/// When a server closes an idle connection, the next request gets a new connection. If the server closes the connection
/// while the client sends a request, the request fails with a retryable error, because the client cannot know whether
/// the server has processed the request.
///
/// The connections close with the release of the client's last copy, after its last transfer, or by ``shutdown()``. May
/// be used from any task.
public struct NIOClient: CoherenceHTTP.HTTPClient {
  private let connections: Connections
  private let redirects: HTTPRedirectPolicy
  /// The maximum number of bytes in a body.
  private let maximumBodySize: Int
  private let queue: TransferQueue

  /// Makes a client with its own connections.
  ///
  /// - Parameters:
  ///   - maximumBodySize: The maximum number of bytes in a body, after decompression. A larger body throws
  ///     `httpBodyTooLarge`.
  ///   - configuration: Time limits, TLS, a proxy, and the maximum number of connections to one origin
  ///     (`connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit`). Further requests wait in order, and the time
  ///     limits count from their admission. The client overrides the settings of redirects, decompression, repeated
  ///     connecting and the version of HTTP.
  ///   - redirects: The rules for redirects.
  public init(
    maximumBodySize: Int = .max,
    configuration: AsyncHTTPClient.HTTPClient.Configuration = NIOClient.defaultConfiguration,
    redirects: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) {
    var configuration = configuration
    configuration.redirectConfiguration = .disallow
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.decompression = .enabled(limit: maximumBodySize == .max ? .none : .size(maximumBodySize))
    configuration.refuseStatusesBelow100()
    // In HTTP/2, an empty or negative status already ends the process in the decoder, ahead of every guard.
    configuration.httpVersion = .http1Only
    connections = Connections(AsyncHTTPClient.HTTPClient(configuration: configuration))
    queue = TransferQueue(limit: configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit)
    self.maximumBodySize = maximumBodySize
    self.redirects = redirects
  }

  /// A configuration with the time limits of a `URLSession`: 60 s for connecting, and 60 s without a byte. Six requests
  /// to one origin run at once.
  ///
  /// Traces are off, because the library adds paths and queries of requests to them, with possible values and
  /// credentials.
  public static var defaultConfiguration: AsyncHTTPClient.HTTPClient.Configuration {
    var configuration = AsyncHTTPClient.HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(60), read: .seconds(60), write: .seconds(60))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 6
    configuration.tracing.tracer = nil
    return configuration
  }

  /// The number of requests that wait for their admission.
  package var waitingCount: Int { queue.waitingCount }

  /// Closes all connections, and waits until they are closed. Running and later requests throw `httpTransferFailed`.
  ///
  /// Call it to wait for the end of the connections. Without the call, the release of the client closes them too.
  public func shutdown() async { await connections.close() }

  /// Sends a request and reads the whole reply.
  ///
  /// - Throws: `httpTransferFailed` and `httpTimedOut` without a complete reply; `httpBodyTooLarge`;
  ///   `httpRedirectRefused` and `httpTooManyRedirects`; `CancellationError`.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await redirects.reply(to: request, body: body, beginning: begin)
  }

  /// Sends a request and returns at the head of the reply.
  ///
  /// - Throws: The errors of ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await redirects.stream(request, body: body, beginning: begin)
  }

  /// Waits for admission to the origin, sends a request, and returns at the head of the reply. A task writes the body
  /// into the buffer.
  package func begin(_ hop: HTTPHop, into buffer: BodyBuffer) async throws -> HTTPResponse {
    let failure = HTTPFailure(to: hop.request)
    guard let request = HTTPClientRequest(hop) else {
      throw failure.broken("the request has no complete address", isRetryable: false)
    }
    let permit = try await queue.admit(to: hop.request.url.flatMap(HTTPOrigin.init))
    do {
      let reply = try await connections.client.execute(request, deadline: .distantFuture)
      guard let response = HTTPResponse(reply) else { throw failure.broken("its status is not an HTTP status code") }
      let body = ReplyBody(reply, to: hop.request, limit: maximumBodySize)
      if body.isAnnouncedTooLarge { throw failure.bodyTooLarge(maximumBodySize) }
      // The task retains the connections, because a program may release the client while it reads a body.
      let transfer = Task { [connections] in
        let end = await body.write(into: buffer, failure)
        permit.release()
        buffer.finish(end)
        withExtendedLifetime(connections) {}
      }
      buffer.whenCanceled { transfer.cancel() }
      return response
    } catch {
      permit.release()
      throw failure.broken(byTransport: error, limit: maximumBodySize)
    }
  }
}
