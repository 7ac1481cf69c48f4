import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The texts of errors, and whether a retry may help.
@Suite("The errors of replies")
struct ErrorTextTests {
  private struct Album: Decodable, Sendable {
    enum Kind: String, Decodable { case live, studio }

    var title: String
    var kind: Kind?
  }

  private struct Page: Codable, Sendable {
    var number: Int?
    var items: [Int]
  }

  private let request = HTTPRequest.get("https://example.org/albums")

  @Test func `a failure is described by its method, its host without credentials, and its status`() {
    var request = HTTPRequest(method: .put, scheme: "https", authority: "ada:sesame@example.org:8443", path: "/a")
    #expect(HTTPFailure(to: request, status: 503).description == "PUT to example.org:8443, status 503")
    #expect(HTTPFailure(to: request).description == "PUT to example.org:8443")
    #expect(HTTPFailure(to: request, status: 503).logDescription == "PUT to example.org:8443, status 503")
    request.authority = nil
    #expect(HTTPFailure(to: request).description == "PUT to an unknown host")
  }

  @Test func `the error of a status says what to do, and whether a retry may help`() throws {
    let advices: [(statuses: [Int], text: String, isRetryable: Bool)] = [
      ([304], "send the request without conditions", false), ([401, 403], "check the credentials", false),
      ([404, 410], "check the address", false), ([408, 425, 429, 500, 502, 503, 504], "try again later", true),
      ([400, 422, 499], "check the request", false), ([301, 501, 505, 599], "the server's own log", false),
    ]
    for (statuses, text, isRetryable) in advices {
      for status in statuses {
        let reply = HTTPReply.make(to: request, status)
        let error = try #require(throws: CoherenceError.self) { try reply.successful() }
        #expect(error.code == .httpStatus && error.isRetryable == isRetryable, "\(status)")
        #expect(error.message.contains("status \(status);") && error.message.contains(text), "\(error)")
        let streamError = try #require(throws: CoherenceError.self) { try HTTPStream(reply).successful() }
        #expect(streamError.message == error.message)
      }
    }
  }

  @Test(arguments: [
    (#"[{"name":"Blue"}]"#, "'[0].title' is missing"), (#"[{"title":null}]"#, "'[0].title' is null"),
    (#"[{"title":"Blue"},{"title":7}]"#, "'[1].title' is of another type"),
    (#"[{"title":"Blue","kind":"bootleg"}]"#, "'[0].kind' has no valid value"), ("<html>", "it is not JSON"),
  ])
  func `the error of an unreadable body names the position and the kind of the fault`(body: String, fault: String)
    throws
  {
    let reply = HTTPReply.make(to: request, 200, [:], body)
    let error = try #require(throws: CoherenceError.self) { try reply.decode([Album].self) }
    #expect(error.code == .httpUnreadable && error.message.contains(": \(fault). "), "\(error)")
    #expect((error.underlying as? HTTPFailure)?.status == 200)
  }

  private func pageError(
    of request: HTTPRequest, _ page: Page, by pagination: HTTPPagination<Page>, _ fields: [String: String] = [:]
  ) async throws -> CoherenceError {
    let body = String(decoding: try JSONEncoder().encode(page), as: UTF8.self)
    let client = StubClient { _, request in .make(to: request, 200, fields, body) }
    var pages = client.pages(of: Page.self, from: request, by: pagination).makeAsyncIterator()
    return try await #require(throws: CoherenceError.self) { try await pages.next() }
  }

  @Test(arguments: ["page=x", "page=1&page=2"])
  func `a retry cannot help a first request without one page number`(query: String) async throws {
    let error = try await pageError(
      of: .get("https://example.org/albums?\(query)"), Page(items: [1]), by: .number(in: "page") { $0.items.isEmpty })
    #expect(error.code == .httpUnreadable && !error.isRetryable)
  }

  @Test func `the errors of a page with another number and of a link without an address are retryable`() async throws {
    let numbered = HTTPPagination<Page>.number(in: "page", of: \.number) { $0.items.isEmpty }
    let other = try await pageError(of: request, Page(number: 3, items: [1]), by: numbered)
    #expect(other.isRetryable && other.message.contains("page 3 arrived instead of page 1"))
    let unlinked = try await pageError(
      of: request, Page(items: [1]), by: .linkHeader(), ["Link": "<mailto:ada>; rel=next"])
    #expect(unlinked.isRetryable && unlinked.message.contains("not an address"))
  }

  @Test func `the error of a request that takes too long names the time limit`() async throws {
    let clock = GatedClock()
    let client = StubClient { _, _ in
      clock.ring()
      await Gate().wait()
      throw CancellationError()
    }
    let limited = client.limited(to: .milliseconds(2500), clock: clock)
    let error = try await #require(throws: CoherenceError.self) { try await limited.send(request) }
    #expect(error.code == .httpTimedOut && error.isRetryable)
    #expect(error.message.contains("came from example.org within 2.5 s."))
  }
}
