public import Foundation
public import HTTPTypes

/// Follows redirects for a client that hands them back as replies.
///
/// ``URLSessionClient`` does so by itself. A client of your own is wrapped in this one, so that credentials stay with
/// their origin there too.
public struct RedirectingClient: HTTPClient {
  private let base: any HTTPClient
  private let policy: HTTPRedirectPolicy

  /// - Parameter base: A client that follows no redirects by itself.
  public init(_ base: any HTTPClient, policy: HTTPRedirectPolicy = HTTPRedirectPolicy()) {
    self.base = base
    self.policy = policy
  }

  /// - Throws: ``ErrorCode/httpRedirectRefused``, ``ErrorCode/httpTooManyRedirects``, and what the client throws that
  ///   this one wraps.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await policy.send(request, body: body) { hop in try await base.send(hop.request, body: hop.body) }
  }

  /// - Throws: As ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await policy.send(request, body: body) { hop in try await base.stream(hop.request, body: hop.body) }
  }
}

extension HTTPClient {
  /// This client, following redirects; see ``RedirectingClient``.
  public func redirecting(_ policy: HTTPRedirectPolicy = HTTPRedirectPolicy()) -> RedirectingClient {
    RedirectingClient(self, policy: policy)
  }
}
