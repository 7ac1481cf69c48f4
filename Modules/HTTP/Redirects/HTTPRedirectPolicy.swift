import CoherenceCore
import Foundation
public import HTTPTypes

/// Which redirects are followed, and what of a request goes with them.
///
/// Redirects are followed one hop at a time, as the Fetch standard says ("HTTP-redirect fetch"):
///
/// - Within an origin (scheme, host and port) all header fields are kept. A request to another origin keeps only the
///   ``portableFields``: no `Authorization`, no `Cookie`, no key of an API. What was left out stays out when a later
///   hop leads back.
/// - 307 and 308 keep method and body. 301 and 302 turn a POST into a GET without a body; so does 303 with every method
///   but GET and HEAD.
/// - A redirect from `https` to `http`, and one to an address that is not HTTP, is refused with
///   ``ErrorCode/httpRedirectRefused``.
/// - After ``maximumHops`` redirects comes ``ErrorCode/httpTooManyRedirects``.
///
/// A redirect without a `Location` is a reply like others. The body of a 307 or 308 goes to the other origin: a request
/// whose body has credentials is best sent with ``manual``.
public struct HTTPRedirectPolicy: Sendable, Hashable {
  /// Whether redirects are followed. If not, they are replies like others.
  public var followsRedirects = true
  /// How many redirects are followed for one request; 0 makes every redirect an error.
  public var maximumHops: Int
  /// The header fields that a request to another origin keeps: the wanted content, its form, and conditions.
  public var portableFields: Set<HTTPField.Name> = [
    .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .connection, .contentEncoding, .contentLanguage,
    .contentType, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange, .ifUnmodifiedSince, .range, .userAgent,
  ]

  public init(maximumHops: Int = 20) { self.maximumHops = maximumHops }

  /// Follows nothing: a redirect is a reply like others.
  public static var manual: HTTPRedirectPolicy {
    var policy = HTTPRedirectPolicy()
    policy.followsRedirects = false
    return policy
  }
}

// MARK: - Following

/// One request of a chain of redirects.
struct HTTPHop: Sendable {
  var request: HTTPRequest
  var body: Data?
  /// Whether this request, or one before it, goes to another origin than the first one of the chain.
  var hasLeftOrigin = false
}

extension HTTPRedirectPolicy {
  /// Sends a request, and the requests that redirects make of it.
  ///
  /// - Parameter transport: Sends one request and follows nothing by itself.
  /// - Returns: The last reply, as the reply to the first request.
  func send<Answer: HTTPAnswer>(
    _ request: HTTPRequest, body: Data?, through transport: (HTTPHop) async throws -> Answer
  ) async throws -> Answer {
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

  /// The address that a reply redirects to; `nil` when the reply is to be taken as it is.
  private func target(of reply: some HTTPAnswer, to hop: HTTPHop) throws -> URL? {
    guard followsRedirects, Self.statuses.contains(reply.response.status.code),
      let location = reply.response.headerFields[.location]
    else { return nil }
    guard let target = URL(string: location, relativeTo: hop.request.url)?.absoluteURL else {
      throw HTTPFailure(to: hop.request).redirectRefused("its 'Location' is no address")
    }
    return target
  }

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

  /// A request at another address: for another origin, with nothing but the portable header fields.
  ///
  /// - Throws: ``ErrorCode/httpRedirectRefused`` for an address that is not HTTP, and for one that gives up `https`.
  func moved(_ request: HTTPRequest, to url: URL) throws -> HTTPRequest {
    let failure = HTTPFailure(to: request)
    guard let source = request.url.flatMap(HTTPOrigin.init), let target = HTTPOrigin(url) else {
      throw failure.redirectRefused("the address is not one of http or https")
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

  /// Whether a header field of that name goes to other origins too.
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

  private static let statuses: Set<Int> = [301, 302, 303, 307, 308]
  /// The header fields that speak of a body.
  private static let bodyFields: [HTTPField.Name] = [
    .contentEncoding, .contentLanguage, .contentLength, .contentType, .transferEncoding,
  ]
}
