public import Foundation
public import HTTPTypes

/// Follows redirects for a client that returns them as replies.
///
/// ``URLSessionClient`` follows redirects by itself. Wrap a client of your own, so that credentials stay with their origin.
public struct RedirectingClient: HTTPClient {
  private let base: any HTTPClient
  private let policy: HTTPRedirectPolicy

  /// Wraps a client.
  ///
  /// - Parameters:
  ///   - base: A client that follows no redirects by itself.
  ///   - policy: The rules for redirects.
  public init(_ base: any HTTPClient, policy: HTTPRedirectPolicy = HTTPRedirectPolicy()) {
    self.base = base
    self.policy = policy
  }

  /// Sends a request and returns the reply after all redirects.
  ///
  /// - Throws: ``ErrorCode/httpRedirectRefused``, ``ErrorCode/httpTooManyRedirects``, and the errors of the wrapped client.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await policy.send(request, body: body) { hop in try await base.send(hop.request, body: hop.body) }
  }

  /// Sends a request and returns the stream after all redirects.
  ///
  /// - Throws: The errors of ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await policy.send(request, body: body) { hop in try await base.stream(hop.request, body: hop.body) }
  }
}

extension HTTPClient {
  /// Wraps this client so that redirects are followed; see ``RedirectingClient``.
  public func redirecting(_ policy: HTTPRedirectPolicy = HTTPRedirectPolicy()) -> RedirectingClient {
    RedirectingClient(self, policy: policy)
  }
}
