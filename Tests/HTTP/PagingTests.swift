import CoherenceCore
public import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("Pages")
struct PagingTests {
  private struct Page: Codable, Sendable {
    var number: Int?
    var next: String?
    var items: [Int]
  }

  private typealias Pagination = HTTPPagination<Page>
  private static let numbered = Pagination.number(in: "page", of: \.number) { $0.items.isEmpty }

  private func body(_ page: Page) -> String {
    (try? JSONEncoder().encode(page)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// All items, page by page, from a client.
  private func items(
    _ client: StubClient, _ pagination: Pagination, from url: String = "https://example.org/items?size=2&page=1"
  ) async throws -> [[Int]] {
    var result: [[Int]] = []
    for try await page in client.pages(of: Page.self, from: .get(url), by: pagination) {
      #expect(page.index == result.count)
      result.append(page.content.items)
    }
    return result
  }

  private func pageNumber(_ request: HTTPRequest) -> Int {
    let components = URLComponents(string: request.url?.absoluteString ?? "")
    return components?.queryItems?.first { $0.name == "page" }?.value.flatMap { Int($0) } ?? 0
  }

  @Test func `pages with numbers are requested one after the other`() async throws {
    let client = StubClient { [self] _, request in
      let number = pageNumber(request)
      return .make(to: request, 200, [:], body(Page(number: number, items: number > 3 ? [] : [number, number * 10])))
    }
    #expect(try await items(client, Self.numbered) == [[1, 10], [2, 20], [3, 30], []])
    #expect(client.requests.map { $0.path } == (1...4).map { "/items?size=2&page=\($0)" })
  }

  @Test func `the other parameters of a page's request stay as they were written`() async throws {
    let client = StubClient { [self] _, request in
      let number = pageNumber(request)
      return .make(to: request, 200, [:], body(Page(number: number, items: number > 1 ? [] : [1])))
    }
    let first = "https://example.org/items?q=a+b%26c&page=1&s=%C3%BC"
    #expect(try await items(client, Self.numbered, from: first) == [[1], []])
    #expect(client.requests.map(\.path) == ["/items?q=a+b%26c&page=1&s=%C3%BC", "/items?q=a+b%26c&page=2&s=%C3%BC"])
  }

  @Test func `pages with cursors of any characters are requested one after the other`() async throws {
    let cursors: [String?] = ["a+b/c=&d", "ü 2", nil]
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(next: cursors[number], items: [number])))
    }
    let pagination = Pagination.cursor(in: "after") { $0.next }
    #expect(try await items(client, pagination, from: "https://example.org/items") == [[0], [1], [2]])
    let sent = client.requests.map { URLComponents(string: $0.url?.absoluteString ?? "")?.queryItems?.first?.value }
    #expect(sent == [nil, "a+b/c=&d", "ü 2"])
    #expect(client.requests[1].path?.contains("+") == false, "A plus sign would be read as a space.")
  }

  @Test func `pages with link headers are requested one after the other`() async throws {
    let client = StubClient { [self] number, request in
      let links = [
        "<https://example.org/items?page=9>; rel=\"last\", </items?page=2>; title=\"a, b\"; rel=\"prefetch next\"",
        "<https://example.org/items?page=3>; title=\"a; rel=prev, \\\"b\"; rel=NEXT",
        "<https://example.org/items?page=1>; rel=\"first\"",
      ]
      return .make(to: request, 200, ["Link": links[number]], body(Page(items: [number])))
    }
    #expect(try await items(client, .linkHeader()) == [[0], [1], [2]])
    #expect(client.requests.map { $0.path } == ["/items?size=2&page=1", "/items?page=2", "/items?page=3"])
  }

  @Test func `a next link to another host receives no credentials`() async throws {
    let client = StubClient { [self] number, request in
      let fields = number == 0 ? ["Link": "<https://elsewhere.example/2>; rel=next"] : [:]
      return .make(to: request, 200, fields, body(Page(items: [number])))
    }
    var request = HTTPRequest.get("https://example.org/1")
    request.headerFields[.authorization] = "Bearer secret"
    for try await _ in client.pages(of: Page.self, from: request, by: .linkHeader()) {}
    #expect(client.requests.map { $0.headerFields[.authorization] } == ["Bearer secret", nil])
    #expect(client.requests.last?.authority == "elsewhere.example")
  }

  @Test func `a link to another host gets no API key, and a link from https to http is refused`() async throws {
    let links = ["<https://elsewhere.example/2>; rel=next", "<http://example.org/3>; rel=next"]
    let client = StubClient { [self] number, request in
      .make(to: request, 200, ["Link": links[number]], body(Page(items: [number])))
    }
    let key = try #require(HTTPField.Name("X-Api-Key"))
    var request = HTTPRequest.get("https://example.org/1")
    request.headerFields[key] = "a"
    var pages = client.pages(of: Page.self, from: request, by: .linkHeader()).makeAsyncIterator()
    #expect(try await pages.next()?.content.items == [0])
    let error = try await #require(throws: CoherenceError.self) { try await pages.next() }
    #expect(error.code == .httpRedirectRefused)
    #expect(client.requests.map { $0.headerFields[key] } == ["a", nil])
  }

  @Test func `pages with equal contents are not a cycle`() async throws {
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(items: number < 3 ? [1, 1] : [])))
    }
    let pages = try await items(client, .number(in: "page") { $0.items.isEmpty })
    #expect(pages == [[1, 1], [1, 1], [1, 1], []])
  }

  @Test func `a repeated cursor is an error and is not requested again`() async throws {
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(next: ["a", "b", "a"][number], items: [number])))
    }
    let error = try await #require(throws: CoherenceError.self) {
      try await items(client, .cursor(in: "after") { $0.next })
    }
    #expect(error.code == .httpUnreadable)
    #expect(client.requests.count == 3)
  }

  @Test func `requests with different cursors in a header field are different`() async throws {
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(next: ["a", "b", nil][number], items: [number])))
    }
    let cursor = try #require(HTTPField.Name("X-Cursor"))
    let pagination = Pagination { page in
      guard let next = page.content.next else { return nil }
      var request = page.reply.request
      request.headerFields[cursor] = next
      return request
    }
    let pages = try await items(client, pagination)
    #expect(pages == [[0], [1], [2]])
  }

  @Test func `an endless service is an error after the maximum number of pages`() async throws {
    let client = StubClient { [self] _, request in .make(to: request, 200, [:], body(Page(items: [1]))) }
    let pagination = Pagination.number(in: "page") { $0.items.isEmpty }
    var pages = client.pages(of: Page.self, from: .get("https://example.org/"), by: pagination, limit: 2)
      .makeAsyncIterator()
    for _ in 1...2 { #expect(try await pages.next() != nil) }
    let error = try await #require(throws: CoherenceError.self) { try await pages.next() }
    #expect(error.code == .httpUnreadable)
    #expect(client.requests.count == 2)
  }

  @Test func `a cycle of pages is an error`() async throws {
    let client = StubClient { [self] number, request in
      let next = "<https://example.org/items?page=\(number % 2 + 1)>; rel=next"
      return .make(to: request, 200, ["Link": next], body(Page(items: [number])))
    }
    await #expect(throws: CoherenceError.self) {
      try await items(client, .linkHeader(), from: "https://example.org/items?page=1")
    }
    #expect(client.requests.count <= 3)
  }

  @Test func `a page with an unexpected number is an error`() async throws {
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(number: [1, 3, 2, 4][number], items: [number])))
    }
    let error = try await #require(throws: CoherenceError.self) { try await items(client, Self.numbered) }
    #expect(error.code == .httpUnreadable)
    #expect(client.requests.count == 2)
  }

  @Test(arguments: ["abc", "1.5", "99999999999999999999", "-1"])
  func `a first request whose page is no number is an error, also if its page is the last one`(
    value: String
  ) async throws {
    for items in [[1], []] {
      let client = StubClient { [self] _, request in .make(to: request, 200, [:], body(Page(items: items))) }
      var pages = client.pages(
        of: Page.self, from: .get("https://example.org/items?page=\(value)"), by: Self.numbered
      ).makeAsyncIterator()
      let error = try await #require(throws: CoherenceError.self) { try await pages.next() }
      #expect(error.code == .httpUnreadable && error.description.contains("'page'"))
      #expect(try await pages.next() == nil)
      #expect(client.requests.count == 1)
    }
  }

  @Test(arguments: ["page=1&page=5", "page=1&page=1", "page&page=1", "page=1&%70age=2"])
  func `a first request with several page numbers is an error, also if its page is the last one`(
    query: String
  ) async throws {
    for items in [[1], []] {
      let client = StubClient { [self] _, request in .make(to: request, 200, [:], body(Page(items: items))) }
      var pages = client.pages(
        of: Page.self, from: .get("https://example.org/items?\(query)"), by: Self.numbered
      ).makeAsyncIterator()
      let error = try await #require(throws: CoherenceError.self) { try await pages.next() }
      #expect(error.code == .httpUnreadable && error.description.contains("'page'"))
      #expect(client.requests.count == 1)
    }
  }

  @Test func `a cursor replaces all values of its parameter`() async throws {
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(next: ["c", nil][number], items: [number])))
    }
    let first = "https://example.org/items?size=2&after=a&sort=id&after=b"
    #expect(try await items(client, .cursor(in: "after") { $0.next }, from: first) == [[0], [1]])
    #expect(client.requests.last?.path == "/items?size=2&after=c&sort=id")
  }

  @Test(arguments: ["", "?page", "?page="])
  func `a first request without a page number gets the first page`(query: String) async throws {
    let client = StubClient { [self] number, request in
      .make(to: request, 200, [:], body(Page(items: number > 0 ? [] : [1])))
    }
    let first = "https://example.org/items\(query)"
    #expect(try await self.items(client, Self.numbered, from: first) == [[1], []])
    #expect(client.requests.last?.path == "/items?page=2")
  }

  @Test func `a page with the greatest number ends the sequence with an error`() async throws {
    let client = StubClient { [self] _, request in
      .make(to: request, 200, [:], body(Page(number: Int.max, items: [1])))
    }
    let first = HTTPRequest.get("https://example.org/items?page=\(Int.max)")
    var pages = client.pages(of: Page.self, from: first, by: Pagination.number(in: "page") { $0.items.isEmpty })
      .makeAsyncIterator()
    let failed = try await #require(throws: CoherenceError.self) { try await pages.next() }
    #expect(failed.code == .httpUnreadable && !failed.isRetryable)
    #expect(try await pages.next() == nil)
    var numbered = client.pages(of: Page.self, from: first, by: Self.numbered, firstNumber: .max).makeAsyncIterator()
    let numberedFailure = try await #require(throws: CoherenceError.self) { try await numbered.next() }
    #expect(numberedFailure.code == .httpUnreadable)
    #expect(client.requests.count == 2)
  }

  @Test func `the expected number of the first page is a parameter`() async throws {
    let client = StubClient { [self] _, request in
      let number = pageNumber(request)
      return .make(to: request, 200, [:], body(Page(number: number, items: number > 1 ? [] : [number])))
    }
    let first = HTTPRequest.get("https://example.org/items?page=0")
    var items: [[Int]] = []
    for try await page in client.pages(of: Page.self, from: first, by: Self.numbered, firstNumber: 0) {
      items.append(page.content.items)
    }
    #expect(items == [[0], [1], []])
  }

  @Test(arguments: ["number", "cursor", "link"])
  func `the conditions of the first request are not those of further pages`(kind: String) async throws {
    let client = StubClient { [self] number, request in
      let content = Page(next: number == 0 ? "b" : nil, items: number == 0 ? [1] : [])
      return .make(to: request, 200, number == 0 ? ["Link": "</2>; rel=next"] : [:], body(content))
    }
    let paginations: [String: Pagination] = [
      "number": Self.numbered, "cursor": .cursor(in: "after") { $0.next }, "link": .linkHeader(),
    ]
    var request = HTTPRequest.get("https://example.org/1")
    request.headerFields[.ifNoneMatch] = "\"v1\""
    request.headerFields[.ifModifiedSince] = "Sun, 06 Nov 1994 08:49:37 GMT"
    let pagination = try #require(paginations[kind])
    for try await _ in client.pages(of: Page.self, from: request, by: pagination) {}
    #expect(client.requests.map { $0.headerFields[.ifNoneMatch] } == ["\"v1\"", nil])
    #expect(client.requests.map { $0.headerFields[.ifModifiedSince] != nil } == [true, false])
  }

  @Test func `the relation of a link and the portable header fields are parameters of a pagination`() async throws {
    let client = StubClient { [self] number, request in
      let links = "<https://example.org/9>; rel=next, <https://elsewhere.example/2>; rel=older"
      return .make(to: request, 200, number == 0 ? ["Link": links] : [:], body(Page(items: [number])))
    }
    var request = HTTPRequest.get("https://example.org/1")
    request.headerFields[.authorization] = "Bearer secret"
    var policy = HTTPRedirectPolicy()
    policy.portableFields.insert(.authorization)
    let pagination = Pagination.linkHeader(relation: "older", policy: policy)
    for try await _ in client.pages(of: Page.self, from: request, by: pagination) {}
    #expect(client.requests.map(\.authority) == ["example.org", "elsewhere.example"])
    #expect(client.requests.map { $0.headerFields[.authorization] } == ["Bearer secret", "Bearer secret"])
  }

  private struct Dated: Codable, Sendable {
    var date: Date
  }

  @Test func `the pages are decoded by the given decoder`() async throws {
    let client = StubClient { _, request in .make(to: request, 200, [:], "{\"date\":60}") }
    let pages = client.pages(
      of: Dated.self, from: .get("https://example.org/"), by: .cursor(in: "after") { _ in nil }
    ) {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .secondsSince1970
      return decoder
    }
    var dates: [Date] = []
    for try await page in pages { dates.append(page.content.date) }
    #expect(dates == [Date(timeIntervalSince1970: 60)])
  }

  @Test func `a failed page ends the sequence with its error`() async throws {
    let client = StubClient { [self] number, request in
      number == 1 ? .make(to: request, 500) : .make(to: request, 200, [:], body(Page(items: [number])))
    }
    var pages = client.pages(of: Page.self, from: .get("https://example.org/?page=1"), by: Self.numbered)
      .makeAsyncIterator()
    #expect(try await pages.next()?.content.items == [0])
    await #expect(throws: CoherenceError.self) { try await pages.next() }
    #expect(try await pages.next() == nil)
  }
}

/// Compares pages by their content.
extension HTTPPage: Equatable where Content: Equatable {
  public static func == (left: HTTPPage, right: HTTPPage) -> Bool {
    left.index == right.index && left.content == right.content
  }
}
