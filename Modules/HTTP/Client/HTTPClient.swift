public import Foundation
public import HTTPTypes

/// Sends requests and returns replies.
///
/// Actions use this protocol, so that a test can replace the web service. ``URLSessionClient`` sends requests to
/// servers: it follows redirects without credentials for other origins, sends a request once, and has no limits besides
/// its session's. The `NIOClient` of `CoherenceAsyncHTTP` does the same on SwiftNIO. Other clients wrap a client and
/// extend it: ``RetryingClient``, ``TimeLimitedClient``, ``RedirectingClient``, ``HTTPRecorder``.
///
/// ```swift
/// struct RefreshAlbums: AsyncEntityAction {
///   typealias ManagedObjectType = Album
///   let http: any HTTPClient
///   let url: URL
///
///   func execute(context: ActionContext) async throws -> MergeResult {
///     let reply = try await http.send(HTTPRequest(method: .get, url: url)).successful()
///     let albums = try reply.decode([AlbumRecord].self)
///     return try await context.perform { try context.merge(records: albums, for: context.entity(for: Album.self)) }
///   }
/// }
/// ```
///
/// Cancelling the task cancels the transfer. May be used from any task.
public protocol HTTPClient: Sendable {
  /// Sends a request and waits for the complete reply. Every status is returned as a reply.
  ///
  /// - Throws: ``ErrorCode/httpTransferFailed`` without a complete reply; `CancellationError` when the task is cancelled.
  func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply

  /// Sends a request and returns at the head of the reply, with any status. The body can be read while it arrives, so that
  /// its size does not affect the memory. `download(_:body:to:)` writes the body to a file.
  ///
  /// The default implementation returns the complete reply of ``send(_:body:)``.
  ///
  /// - Throws: The errors of ``send(_:body:)`` before the head. The ``HTTPBody`` throws later errors.
  func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream
}

extension HTTPClient {
  /// Sends a request without a body; see ``send(_:body:)``.
  public func send(_ request: HTTPRequest) async throws -> HTTPReply { try await send(request, body: nil) }

  /// Sends a request and decodes the reply.
  ///
  /// - Throws: The errors of ``send(_:body:)`` and of ``HTTPReply/decode(_:by:)``.
  public func send<Content: Decodable>(
    _ request: HTTPRequest, decoding type: Content.Type, by decoder: JSONDecoder = JSONDecoder()
  ) async throws -> Content {
    try await send(request).decode(type, by: decoder)
  }
}
