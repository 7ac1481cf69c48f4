import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("The availability of a service by the error of a request")
struct ServiceAvailabilityTests {
  private struct Page: Decodable, Sendable {
    var next: String?
  }

  @Test(arguments: [nil, 429, 503, 404, 500] as [Int?])
  func `a missing reply and statuses such as 503 mean an unavailable service`(status: Int?) {
    let failure = HTTPFailure(to: .get("https://example.org/notes"), status: status)
    #expect(failure.isServiceUnavailable == (status != 404 && status != 500))
  }

  @Test func `a repeated page is no sign of an unavailable service`() async throws {
    let client = StubClient { _, request in .make(to: request, 200, [:], #"{"next": "a"}"#) }
    let pagination = HTTPPagination<Page>.cursor(in: "after") { $0.next }
    let error = try await #require(throws: CoherenceError.self) {
      for try await _ in client.pages(of: Page.self, from: .get("https://example.org/notes"), by: pagination) {}
    }
    #expect(error.code == .httpUnreadable)
    #expect(!RetryPolicy.isServiceUnavailable(error))
  }

  @Test func `refused redirects and too many redirects are no signs of an unavailable service`() async throws {
    for location in ["http://example.org/b", "/b"] {
      let client = StubClient { _, request in .make(to: request, 302, ["Location": location]) }.redirecting()
      let error = try await #require(throws: CoherenceError.self) {
        try await client.send(.get("https://example.org/a"))
      }
      #expect(error.code == (location == "/b" ? .httpTooManyRedirects : .httpRedirectRefused))
      #expect(!RetryPolicy.isServiceUnavailable(error))
    }
  }

  @Test(arguments: ClientKind.allCases)
  func `a body beyond the limit is no sign of an unavailable service`(kind: ClientKind) async throws {
    let client = kind.makeClient(maximumBodySize: 10_000)
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: 1_000_000))
      connection.send(String(repeating: "x", count: 100_000))
      connection.waitUntilClientCloses()
    }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpBodyTooLarge)
    #expect(!RetryPolicy.isServiceUnavailable(error))
  }
}
