import CoherenceCore
public import Foundation
public import HTTPTypes

/// The pages of some content, one after the other: each is asked for when it is wanted.
///
/// ```swift
/// let pages = http.pages(of: AlbumPage.self, from: request, by: .linkHeader()).map { $0.content.albums }
/// try await context.mergePages(
///   pages, for: album, options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
/// ```
///
/// `mergePages` of CoherenceActions saves each page and deletes once, after the last page, the albums that no page
/// named. To merge the pages one by one in the mode `.replace` would delete the albums of all pages but the last.
///
/// Every page that comes out is whole and in its place. A page out of order, a request that was sent before, and more
/// pages than the limit are errors with ``ErrorCode/httpUnreadable``: the pages until then would be taken for the whole
/// content. Pages with equal contents are pages like others. Merged pages stay merged, and merging them again does no
/// harm.
public struct HTTPPages<Content: Decodable & Sendable>: AsyncSequence, Sendable {
  public typealias Element = HTTPPage<Content>

  let client: any HTTPClient
  let first: HTTPRequest
  let pagination: HTTPPagination<Content>
  let firstNumber: Int?
  let limit: Int
  /// Makes the decoder, which is not `Sendable` itself.
  let decoder: @Sendable () -> JSONDecoder

  public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pages: HTTPPages
    private var request: HTTPRequest?
    private var index = 0
    /// With their header fields, where a cursor may be, but without conditions.
    private var requests: Set<HTTPRequest> = []

    init(pages: HTTPPages) {
      self.pages = pages
      request = pages.first
    }

    /// - Throws: As ``HTTPClient/send(_:body:)`` and ``HTTPReply/decode(_:by:)``, and for pages that make no sequence.
    public mutating func next() async throws -> HTTPPage<Content>? {
      guard let request else { return nil }
      // After an error the sequence is over.
      self.request = nil
      try checkNews(of: request)
      let reply = try await pages.client.send(request)
      let page = HTTPPage(index: index, content: try reply.decode(Content.self, by: pages.decoder()), reply: reply)
      try pages.pagination.checkNumber(of: page, first: pages.firstNumber)
      self.request = try pages.pagination.next(page)
      index += 1
      return page
    }

    /// Before the request is sent, so that a service whose pages never end is not asked for ever.
    private mutating func checkNews(of request: HTTPRequest) throws {
      let failure = HTTPFailure(to: request)
      guard requests.insert(request.unconditional).inserted else {
        throw failure.unreadable("the pages go round in a circle; report it to the service.")
      }
      guard index < pages.limit else {
        throw failure.unreadable("there are more than \(pages.limit) pages; allow more, or report it to the service.")
      }
    }
  }
}

extension HTTPClient {
  /// The pages of some content, from the one that the request asks for.
  ///
  /// - Parameters:
  ///   - firstNumber: The number of the first page, where pages tell their numbers.
  ///   - limit: How many pages there may be; it ends the sequence of a service that repeats a page for each number.
  ///   - decoder: Makes the decoder of the pages.
  public func pages<Content: Decodable & Sendable>(
    of type: Content.Type, from request: HTTPRequest, by pagination: HTTPPagination<Content>, firstNumber: Int = 1,
    limit: Int = 10_000, decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
  ) -> HTTPPages<Content> {
    HTTPPages(
      client: self, first: request, pagination: pagination, firstNumber: firstNumber, limit: limit, decoder: decoder)
  }
}
