public import Foundation
public import HTTPTypes

/// Sends a request and returns the reply.
///
/// The one thing that an action needs of a web service, so that a test can stand in for it. ``URLSessionClient`` talks to
/// servers: it follows redirects without credentials for other origins, sends a request once, and has no limits but its
/// session's. Others wrap a client and add to it: ``RetryingClient``, ``TimeLimitedClient``, ``RedirectingClient``,
/// ``HTTPRecorder``.
///
/// ```swift
/// struct RefreshAlbums: AsyncEntityAction {
///   typealias ManagedObjectType = Album
///   let http: any HTTPClient
///
///   func execute(context: ActionContext) async throws -> MergeResult {
///     let reply = try await http.send(HTTPRequest(url: URL(string: "https://music.example/albums")!))
///     let albums = try reply.decode([AlbumRecord].self)
///     return try await context.perform { try context.merge(records: albums.map(\.record), for: .album) }
///   }
/// }
/// ```
///
/// Canceling the task cancels the transfer. May be used from any task.
public protocol HTTPClient: Sendable {
  /// Sends a request and waits for the whole reply, of whatever status.
  ///
  /// - Throws: ``ErrorCode/httpTransferFailed`` when there is no complete reply; `CancellationError` when the task was
  ///   cancelled.
  func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply

  /// Sends a request and returns when the head of the reply is there, of whatever status: the body is read while it
  /// comes in, so that its size does not matter to the memory. See also `download(_:body:to:)`, which writes it to a file.
  ///
  /// A client that does not implement this hands out the whole reply of ``send(_:body:)``.
  ///
  /// - Throws: As ``send(_:body:)``, where there is no head. What goes wrong later is thrown by the ``HTTPBody``.
  func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream
}

extension HTTPClient {
  /// Sends a request without a body; see ``send(_:body:)``.
  public func send(_ request: HTTPRequest) async throws -> HTTPReply { try await send(request, body: nil) }

  /// Sends a request and decodes the reply.
  ///
  /// - Throws: As ``send(_:body:)``, and as ``HTTPReply/decode(_:by:)``.
  public func send<Content: Decodable>(
    _ request: HTTPRequest, decoding type: Content.Type, by decoder: JSONDecoder = JSONDecoder()
  ) async throws -> Content {
    try await send(request).decode(type, by: decoder)
  }
}
