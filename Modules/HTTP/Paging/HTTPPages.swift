import CoherenceCore
public import Foundation
public import HTTPTypes

/// The pages of some content as a sequence. Each page is requested when the reader asks for it.
///
/// ```swift
/// let pages = http.pages(of: AlbumPage.self, from: request, by: .linkHeader()).map { $0.content.albums }
/// try await context.mergePages(
///   pages, for: album, options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
/// ```
///
/// `mergePages` of CoherenceActions saves each page, and after the last page deletes the albums missing on all pages.
/// Merging each page by itself in the mode `.replace` would delete the albums of all pages but the last.
///
/// Every page is complete and in order. A page out of order, a repeated request, and more pages than the limit throw
/// ``ErrorCode/httpUnreadable``, because an early end would make the pages so far look complete. Pages may have equal
/// contents. Pages merged before an error can be merged again.
public struct HTTPPages<Content: Decodable & Sendable>: AsyncSequence, Sendable {
  public typealias Element = HTTPPage<Content>

  let client: any HTTPClient
  let first: HTTPRequest
  let pagination: HTTPPagination<Content>
  let firstNumber: Int
  let limit: Int
  /// Makes the decoder, which is not `Sendable` itself.
  let decoder: @Sendable () -> JSONDecoder

  public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pages: HTTPPages
    private var request: HTTPRequest?
    private var index = 0
    /// The requests so far, with header fields, which may contain a cursor, and without conditions.
    private var requests: Set<HTTPRequest> = []

    init(pages: HTTPPages) {
      self.pages = pages
      request = pages.first
    }

    /// Requests the next page; `nil` after the last.
    ///
    /// - Throws: The errors of ``HTTPClient/send(_:body:)`` and ``HTTPReply/decode(_:by:)``;
    ///   ``ErrorCode/httpUnreadable`` for pages out of order, repeated requests and too many pages. The sequence ends
    ///   then.
    public mutating func next() async throws -> HTTPPage<Content>? {
      guard let request else { return nil }
      // An error ends the sequence.
      self.request = nil
      try checkMayRequest(request)
      let reply = try await pages.client.send(request)
      let page = HTTPPage(index: index, content: try reply.decode(Content.self, by: pages.decoder()), reply: reply)
      try pages.pagination.checkNumber(of: page, firstNumber: pages.firstNumber)
      self.request = try pages.pagination.next(page)
      index += 1
      return page
    }

    /// Refuses a repeated request and too many requests before sending, so that an endless service ends the sequence.
    private mutating func checkMayRequest(_ request: HTTPRequest) throws {
      let failure = HTTPFailure(to: request)
      guard requests.insert(request.unconditional).inserted else {
        throw failure.unreadable("a page refers to a page that was requested before; report the cycle to the service.")
      }
      guard index < pages.limit else {
        throw failure.unreadable("there are more than \(pages.limit) pages; allow more, or report it to the service.")
      }
    }
  }
}

extension HTTPClient {
  /// Returns the pages of some content, beginning with the page of the request.
  ///
  /// - Parameters:
  ///   - type: The type of a page's content.
  ///   - request: The request of the first page.
  ///   - pagination: Makes the request of the page after a page.
  ///   - firstNumber: The expected number in the first page's content, for a pagination that reads numbers of pages.
  ///   - limit: The maximum number of pages, which ends the sequence of a service that repeats a page for each number.
  ///   - decoder: Makes the decoder of a page. May be called from any thread.
  public func pages<Content: Decodable & Sendable>(
    of type: Content.Type, from request: HTTPRequest, by pagination: HTTPPagination<Content>, firstNumber: Int = 1,
    limit: Int = 10_000, decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
  ) -> HTTPPages<Content> {
    HTTPPages(
      client: self, first: request, pagination: pagination, firstNumber: firstNumber, limit: limit, decoder: decoder)
  }
}
