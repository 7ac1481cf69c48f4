import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The addresses of further pages in the header field `Link`.
@Suite("Links to further pages")
struct LinkHeaderTests {
  /// The paths that a reader of all pages requests after a first page with link fields and another address.
  private func paths(_ links: [String], replyURL: URL? = nil) async throws -> [String?] {
    let client = StubClient { number, request in
      var fields = HTTPFields()
      let values = number == 0 ? links : []
      for value in values { fields.append(HTTPField(name: HTTPField.Name("Link")!, value: value)) }
      let response = HTTPResponse(status: .ok, headerFields: fields)
      return HTTPReply(to: request, response: response, body: Data("[1]".utf8), url: number == 0 ? replyURL : nil)
    }
    let pages = client.pages(of: [Int].self, from: .get("https://example.org/v1/items"), by: .linkHeader())
    for try await _ in pages {}
    return client.requests.dropFirst().map(\.path)
  }

  @Test(arguments: [
    "</2>;\trel = \"next\" ", "</2>; crossorigin; rel=next", "</2>; rel=\"first next\"",
    "</2>;title=\"a>b; <c\";rel=Next", "</9>; rel=nextpage, </2>; rel=next, </8>; rel=next", "</9>, </2>; rel=next",
    "</9>; title=next, </2>; rel=\"NEXT\"",
    "</9>; rel=prev; rel=next, </2>; rel=next",
  ])
  func `the first link with the relation leads to the next page`(link: String) async throws {
    #expect(try await paths([link]) == ["/2"])
  }

  @Test(arguments: ["</9>; rel=\"\"", "</9>; rel", "</9>", "/9; rel=next", "</9; rel=next", "</9>; relation=next", ""])
  func `a field without a link of the relation ends the pages`(link: String) async throws {
    #expect(try await paths([link]) == [])
  }

  @Test func `the links of all fields are read`() async throws {
    #expect(try await paths(["</9>; rel=last, </8>; rel=prev", "</2>; rel=next"]) == ["/2"])
  }

  @Test func `a relative link counts from the address that a redirect has led to`() async throws {
    #expect(try await paths(["<items?page=2>; rel=next"]) == ["/v1/items?page=2"])
    let moved = try #require(URL(string: "https://example.org/v2/items"))
    #expect(try await paths(["<items?page=2>; rel=next"], replyURL: moved) == ["/v2/items?page=2"])
  }

  @Test func `a link without a host is an error that names the link`() async throws {
    let error = await #expect(throws: CoherenceError.self) { try await paths(["<mailto:ada>; rel=next"]) }
    #expect(error?.code == .httpUnreadable && error?.message.contains("link to the next page") == true)
  }
}
