import CoherenceCore
package import Foundation
public import HTTPTypes

/// The rules for redirects: which are followed, and with which parts of the request.
///
/// Redirects are followed one hop at a time, by the Fetch standard ("HTTP-redirect fetch"):
///
/// - Within an origin (scheme, host and port) all header fields are kept. A request to another origin keeps only the
///   ``portableFields``: no `Authorization`, no `Cookie`, no API key. A later hop back to the first origin does not
///   restore the removed fields.
/// - 307 and 308 keep method and body. 301 and 302 turn a POST into a GET without a body; so does 303 with every method
///   but GET and HEAD.
/// - A redirect from `https` to `http`, or to another scheme, throws ``ErrorCode/httpRedirectRefused``.
/// - More than ``maximumHops`` redirects throw ``ErrorCode/httpTooManyRedirects``.
///
/// A redirect without a `Location` is returned as a reply. The body of a 307 or 308 is sent to the other origin: send a
/// request with credentials in its body with ``manual``.
public struct HTTPRedirectPolicy: Sendable, Hashable {
  /// Whether redirects are followed. Otherwise they are returned as replies.
  public var followsRedirects = true
  /// The maximum number of redirects of one request; 0 makes every redirect an error.
  public var maximumHops: Int
  /// The header fields that a request to another origin keeps: content types, conditions and the like.
  public var portableFields: Set<HTTPField.Name> = [
    .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .connection, .contentEncoding, .contentLanguage,
    .contentType, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange, .ifUnmodifiedSince, .range, .userAgent,
  ]

  /// Makes a policy that follows redirects.
  public init(maximumHops: Int = 20) { self.maximumHops = maximumHops }

  /// A policy that follows no redirects and returns them as replies.
  public static var manual: HTTPRedirectPolicy {
    var policy = HTTPRedirectPolicy()
    policy.followsRedirects = false
    return policy
  }
}

// MARK: - Following

/// One request of a chain of redirects.
package struct HTTPHop: Sendable {
  package var request: HTTPRequest
  package var body: Data?
  /// Whether this request or an earlier one of the chain has another origin than the first request. Credentials of the
  /// client, such as header fields of a session, must not be added then.
  var hasLeftOrigin = false

  package init(request: HTTPRequest, body: Data? = nil) {
    self.request = request
    self.body = body
  }
}

extension HTTPRedirectPolicy {
  /// Sends a request and follows its redirects.
  ///
  /// - Parameter transport: Sends one request without following redirects.
  /// - Returns: The last reply, as the reply to the first request.
  func send<Reply: AnyHTTPReply>(
    _ request: HTTPRequest, body: Data?, through transport: (HTTPHop) async throws -> Reply
  ) async throws -> Reply {
    var hop = HTTPHop(request: request, body: body)
    for _ in 0...max(maximumHops, 0) {
      var reply = try await transport(hop)
      guard let target = try target(of: reply, to: hop) else {
        reply.request = request
        reply.url = hop.request.url
        return reply
      }
      reply.discard()
      hop = try self.hop(after: hop, to: target, status: reply.response.status.code)
    }
    throw HTTPFailure(to: request).tooManyRedirects(maximumHops)
  }

  /// The address that a reply redirects to; `nil` for a reply to return.
  private func target(of reply: some AnyHTTPReply, to hop: HTTPHop) throws -> URL? {
    guard followsRedirects, Self.redirectStatuses.contains(reply.response.status.code),
      let location = reply.response.headerFields[.location]
    else { return nil }
    guard let target = URL(string: location, relativeTo: hop.request.url)?.absoluteURL else {
      throw HTTPFailure(to: hop.request).redirectRefused("its 'Location' is not an address")
    }
    return target
  }

  /// Returns the request that follows a redirect, with the method, the body and the header fields that the redirect
  /// leaves.
  private func hop(after hop: HTTPHop, to target: URL, status: Int) throws -> HTTPHop {
    var next = hop
    next.request = try moved(hop.request, to: target)
    next.hasLeftOrigin = hop.hasLeftOrigin || !Self.isSameOrigin(hop.request, target)
    if Self.becomesGet(hop.request.method, status: status) {
      next.request.method = .get
      next.body = nil
      for name in Self.bodyFields { next.request.headerFields[name] = nil }
    }
    return next
  }

  /// Returns the request at another address. For another origin the request keeps only the portable header fields.
  ///
  /// - Throws: ``ErrorCode/httpRedirectRefused`` for another scheme than `http` and `https`, for a port out of range,
  ///   and for a change from `https` to `http`.
  func moved(_ request: HTTPRequest, to url: URL) throws -> HTTPRequest {
    let failure = HTTPFailure(to: request)
    guard let source = request.url.flatMap(HTTPOrigin.init), let target = HTTPOrigin(url) else {
      throw failure.redirectRefused("the address is not a valid one of http or https")
    }
    guard source.scheme == target.scheme || target.scheme == "https" else {
      throw failure.redirectRefused("it leads from https to http at \(target.host)")
    }
    var moved = request
    moved.url = url
    if source != target { moved.headerFields = portable(request.headerFields) }
    return moved
  }

  private func portable(_ fields: HTTPFields) -> HTTPFields {
    var portable = HTTPFields()
    for field in fields where portableFields.contains(field.name) { portable.append(field) }
    return portable
  }

  /// Whether a request to another origin keeps the header field.
  func isPortable(_ name: String) -> Bool {
    guard let name = HTTPField.Name(name) else { return false }
    return portableFields.contains(name)
  }

  private static func isSameOrigin(_ request: HTTPRequest, _ url: URL) -> Bool {
    request.url.flatMap(HTTPOrigin.init) == HTTPOrigin(url)
  }

  private static func becomesGet(_ method: HTTPRequest.Method, status: Int) -> Bool {
    switch status {
    case 301, 302: method == .post
    case 303: method != .get && method != .head
    default: false
    }
  }

  private static let redirectStatuses: Set<Int> = [301, 302, 303, 307, 308]
  /// The header fields that describe a body.
  private static let bodyFields: [HTTPField.Name] = [
    .contentEncoding, .contentLanguage, .contentLength, .contentType, .transferEncoding,
  ]
}
