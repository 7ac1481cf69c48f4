import CoherenceCore
import Foundation
public import HTTPTypes

/// A service's division of content into pages: makes the request of the page after a page.
public struct HTTPPagination<Content: Decodable & Sendable>: Sendable {
  /// The request of the page after a page; `nil` after the last.
  let next: @Sendable (HTTPPage<Content>) throws -> HTTPRequest?
  /// The number in a page's content; `nil` for pages without numbers.
  let number: (@Sendable (Content) -> Int?)?

  /// Makes a pagination of your own.
  ///
  /// - Parameter next: Makes the request of the page after a page; `nil` after the last. Its
  ///   error stands in place of that page, and ends the sequence of pages.
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

  /// Makes a pagination by page numbers in the query.
  ///
  /// A faulty number throws ``ErrorCode/httpUnreadable`` when the reader asks for the page with it.
  ///
  /// - Parameters:
  ///   - parameter: The name of the query's parameter. Its value in the first request is the first number; 1 without a
  ///     value. A negative number and other text are errors, and so are several values: a server may use any of them.
  ///   - number: The number in a page's content; `nil` for a page without a number. A page with another number than the
  ///     expected number is an error. The first page is expected to have the `firstNumber` of
  ///     ``HTTPClient/pages(of:from:by:firstNumber:limit:decoder:)``, even if the first request has another number, and
  ///     each further page the next number.
  ///   - isLast: Whether a page is the last one.
  public static func number(
    in parameter: String, of number: (@Sendable (Content) -> Int?)? = nil,
    until isLast: @escaping @Sendable (Content) -> Bool
  ) -> HTTPPagination {
    HTTPPagination(number: number) { page in
      let request = page.reply.request
      let values = request.queryValues(of: parameter)
      guard values.count <= 1 else {
        throw HTTPFailure(to: request).unreadable(
          "the request has several values of '\(parameter)'; begin with one page number.", isRetryable: false)
      }
      let value = values.first ?? ""
      guard let asked = value.isEmpty ? 1 : Int(value), asked >= 0 else {
        throw HTTPFailure(to: request).unreadable(
          "the value of '\(parameter)' is no page number; begin with a number, or without a value.", isRetryable: false)
      }
      guard !isLast(page.content) else { return nil }
      guard asked < Int.max else {
        throw HTTPFailure(to: request).unreadable(
          "no number follows the greatest page number; begin with a lower value of '\(parameter)'.",
          isRetryable: false)
      }
      return request.replacingQuery(parameter, with: "\(asked + 1)")
    }
  }

  /// Makes a pagination by cursors: each page has the cursor of the next page.
  ///
  /// - Parameters:
  ///   - parameter: The name of the query's parameter that takes the cursor.
  ///   - next: The cursor of the next page; `nil` or empty for the last page.
  public static func cursor(
    in parameter: String, next: @escaping @Sendable (Content) -> String?
  ) -> HTTPPagination {
    HTTPPagination { page in
      guard let cursor = next(page.content), !cursor.isEmpty else { return nil }
      return page.reply.request.replacingQuery(parameter, with: cursor)
    }
  }

  /// Makes a pagination by the header field `Link`, as `<…>; rel="next"` (RFC 8288).
  ///
  /// A link to another origin is followed like a redirect: the request keeps only the portable header fields of the
  /// policy, and a link from `https` to `http` throws ``ErrorCode/httpRedirectRefused``. A `URLSession` sends the
  /// header fields of its configuration to every linked host: pass credentials with the request instead.
  ///
  /// - Parameters:
  ///   - relation: The relation of the link, compared without regard to case.
  ///   - policy: The portable header fields.
  public static func linkHeader(
    relation: String = "next", policy: HTTPRedirectPolicy = HTTPRedirectPolicy()
  ) -> HTTPPagination {
    HTTPPagination { page in
      let request = page.reply.request
      guard let link = LinkHeader(page.reply).target(of: relation) else { return nil }
      let base = page.reply.url ?? request.url
      guard let base, let url = URL(string: link, relativeTo: base)?.absoluteURL, url.host != nil else {
        throw HTTPFailure(to: request).unreadable("the link to the next page is not an address; inform the service.")
      }
      return try policy.moved(request, to: url).unconditional
    }
  }

  /// Throws ``ErrorCode/httpUnreadable`` for a page whose content has another number than expected: the first number
  /// plus the index of the page. The number in the page's request is not compared.
  func checkNumber(of page: HTTPPage<Content>, firstNumber: Int) throws {
    guard let received = number?(page.content) else { return }
    let (expected, isBeyond) = firstNumber.addingReportingOverflow(page.index)
    guard isBeyond || received != expected else { return }
    let wanted = isBeyond ? "a page without a number" : "page \(expected)"
    throw HTTPFailure(to: page.reply.request).unreadable(
      "page \(received) arrived instead of \(wanted); request all pages again.")
  }
}

/// One page of some content.
public struct HTTPPage<Content: Decodable & Sendable>: Sendable {
  /// The position of the page in the sequence, from 0.
  public let index: Int
  /// The decoded content.
  public let content: Content
  /// The reply of the page.
  public let reply: HTTPReply
}

// MARK: - Requests of further pages

extension HTTPRequest {
  /// The values of a query's parameter; empty texts where the parameter stands without a value.
  func queryValues(of name: String) -> [String] {
    let items = url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }?.queryItems ?? []
    return items.filter { $0.name == name }.map { $0.value ?? "" }
  }

  /// Returns the request of another page: with one value of a query's parameter, in place of all its values, and without
  /// conditions. A request without a readable address is returned as it is.
  func replacingQuery(_ name: String, with value: String) -> HTTPRequest {
    guard let url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return self }
    // The other items stay as the user wrote them: the server decides whether their plus signs are spaces.
    var items = components.percentEncodedQueryItems ?? []
    let item = URLQueryItem(name: name, value: value).percentEncoded
    let index = items.firstIndex { $0.name.removingPercentEncoding == name } ?? items.count
    items.removeAll { $0.name.removingPercentEncoding == name }
    items.insert(item, at: index)
    components.percentEncodedQueryItems = items
    var request = self
    request.url = components.url
    return request.unconditional
  }

  /// The request without conditions: a validator applies to one page only.
  var unconditional: HTTPRequest {
    var request = self
    request.headerFields[.ifNoneMatch] = nil
    request.headerFields[.ifModifiedSince] = nil
    return request
  }
}

extension URLQueryItem {
  fileprivate var percentEncoded: URLQueryItem {
    var components = URLComponents()
    components.queryItems = [self]
    // Many servers decode a plus sign in a query as a space.
    components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
    return components.percentEncodedQueryItems?.first ?? self
  }
}
