import CoherenceCore
import Foundation
public import HTTPTypes

/// How a service divides content into pages: what is asked for after a page.
public struct HTTPPagination<Content: Decodable & Sendable>: Sendable {
  /// The request of the page after this one; `nil` after the last.
  let next: @Sendable (HTTPPage<Content>) throws -> HTTPRequest?
  /// The number that a page says it has, where it says so.
  let number: (@Sendable (Content) -> Int?)?

  /// A way of your own.
  ///
  /// - Parameter next: The request of the page after a page; `nil` after the last.
  public init(next: @escaping @Sendable (HTTPPage<Content>) throws -> HTTPRequest?) {
    self.next = next
    number = nil
  }

  private init(
    number: (@Sendable (Content) -> Int?)?, next: @escaping @Sendable (HTTPPage<Content>) throws -> HTTPRequest?
  ) {
    self.next = next
    self.number = number
  }

  /// Pages with numbers in the query.
  ///
  /// - Parameters:
  ///   - parameter: The name of the query's parameter. The first request's says where to begin; 1 without.
  ///   - number: The number that a page says it has. A page that has another one than was asked for is an error: the
  ///     pages came out of order.
  ///   - isLast: Whether a page is the last one.
  public static func number(
    in parameter: String, of number: (@Sendable (Content) -> Int?)? = nil,
    until isLast: @escaping @Sendable (Content) -> Bool
  ) -> HTTPPagination {
    HTTPPagination(number: number) { page in
      guard !isLast(page.content) else { return nil }
      let asked = page.reply.request.queryValue(of: parameter).flatMap { Int($0) } ?? 1
      return page.reply.request.replacingQuery(parameter, with: "\(asked + 1)")
    }
  }

  /// Pages that tell where the next one begins.
  ///
  /// - Parameters:
  ///   - parameter: The name of the query's parameter that takes the cursor.
  ///   - next: The cursor of the next page; `nil` or empty in the last.
  public static func cursor(
    in parameter: String, next: @escaping @Sendable (Content) -> String?
  ) -> HTTPPagination {
    HTTPPagination { page in
      guard let cursor = next(page.content), !cursor.isEmpty else { return nil }
      return page.reply.request.replacingQuery(parameter, with: cursor)
    }
  }

  /// Pages that name the next one in the header field `Link`, as `<…>; rel="next"` (RFC 8288).
  ///
  /// A link to another origin is followed like a redirect: the request keeps only the header fields that the policy
  /// calls portable, and a link from `https` to `http` is refused with ``ErrorCode/httpRedirectRefused``. Header fields
  /// that a `URLSession` adds to all requests go to every host that a service links to: give credentials with the
  /// request.
  ///
  /// - Parameters:
  ///   - relation: The relation of the link, without regard to case.
  ///   - policy: Which header fields go to another origin.
  public static func linkHeader(
    relation: String = "next", policy: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) -> HTTPPagination {
    HTTPPagination { page in
      let request = page.reply.request
      guard let link = LinkHeader(page.reply).target(of: relation) else { return nil }
      let base = page.reply.url ?? request.url
      guard let base, let url = URL(string: link, relativeTo: base)?.absoluteURL, url.host != nil else {
        throw HTTPFailure(to: request).unreadable("the link to the next page is no address; report it to the service.")
      }
      return try policy.moved(request, to: url).unconditional
    }
  }

  /// The page's number must be the one that was asked for.
  func checkNumber(of page: HTTPPage<Content>, first: Int?) throws {
    guard let answered = number?(page.content), let first, answered != first + page.index else { return }
    throw HTTPFailure(to: page.reply.request).unreadable(
      "page \(answered) came when page \(first + page.index) was asked for; ask for all pages again.")
  }
}

/// A page of content.
public struct HTTPPage<Content: Decodable & Sendable>: Sendable {
  /// From 0.
  public let index: Int
  public let content: Content
  public let reply: HTTPReply
}

// MARK: - Requests of further pages

extension HTTPRequest {
  func queryValue(of name: String) -> String? {
    url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }?.queryItems?.first { $0.name == name }?.value
  }

  func replacingQuery(_ name: String, with value: String) -> HTTPRequest {
    guard let url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return self }
    var items = components.queryItems ?? []
    let item = URLQueryItem(name: name, value: value)
    if let index = items.firstIndex(where: { $0.name == name }) { items[index] = item } else { items.append(item) }
    components.queryItems = items
    // A plus sign in a query means a space to many servers.
    components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
    var request = self
    request.url = components.url
    return request.unconditional
  }

  /// Validators are those of one page.
  var unconditional: HTTPRequest {
    var request = self
    request.headerFields[.ifNoneMatch] = nil
    request.headerFields[.ifModifiedSince] = nil
    return request
  }
}
