import CoherenceCore
import Foundation
import HTTPTypes

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
/// Every page that comes out is whole and in its place. A page that the service repeats, a page out of order, and a
/// next page that was there before are errors with ``ErrorCode/httpUnreadable``: what follows from them would be taken
/// for the whole content. What was merged until then stays, and merging the same pages again does no harm.
public struct HTTPPages<Content: Decodable & Sendable>: AsyncSequence, Sendable {
  public typealias Element = HTTPPage<Content>

  let client: any HTTPClient
  let first: HTTPRequest
  let pagination: HTTPPagination<Content>
  let firstNumber: Int?
  /// Makes the decoder, which is not `Sendable` itself.
  let decoder: @Sendable () -> JSONDecoder

  public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pages: HTTPPages
    private var request: HTTPRequest?
    private var index = 0
    private var addresses: Set<String> = []
    private var fingerprints: Set<Int> = []

    init(pages: HTTPPages) {
      self.pages = pages
      request = pages.first
    }

    /// - Throws: As ``HTTPClient/send(_:body:)`` and ``HTTPReply/decode(_:by:)``, and for pages that make no sequence.
    public mutating func next() async throws -> HTTPPage<Content>? {
      guard let request else { return nil }
      // After an error the sequence is over.
      self.request = nil
      let reply = try await pages.client.send(request)
      let page = HTTPPage(index: index, content: try reply.decode(Content.self, by: pages.decoder()), reply: reply)
      try pages.pagination.checkNumber(of: page, first: pages.firstNumber)
      try checkNews(of: reply)
      self.request = try pages.pagination.next(page)
      index += 1
      return page
    }

    private mutating func checkNews(of reply: HTTPReply) throws {
      let failure = HTTPFailure(to: reply.request)
      if let address = reply.request.url?.absoluteString, !addresses.insert(address).inserted {
        throw failure.unreadable("the pages go round in a circle; report it to the service.")
      }
      // Not the hash of `Data`, which looks at the beginning only.
      var hasher = Hasher()
      reply.body.withUnsafeBytes { hasher.combine(bytes: $0) }
      if !fingerprints.insert(hasher.finalize()).inserted {
        throw failure.unreadable("the same page came twice; ask for all pages again.")
      }
    }
  }
}

extension HTTPClient {
  /// The pages of some content, from the one that the request asks for.
  ///
  /// - Parameters:
  ///   - firstNumber: The number of the first page, where pages tell their numbers.
  ///   - decoder: Makes the decoder of the pages.
  public func pages<Content: Decodable & Sendable>(
    of type: Content.Type, from request: HTTPRequest, by pagination: HTTPPagination<Content>, firstNumber: Int = 1,
    decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
  ) -> HTTPPages<Content> {
    HTTPPages(client: self, first: request, pagination: pagination, firstNumber: firstNumber, decoder: decoder)
  }
}
