import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The rules of the policy, independent of the client that sends the requests.
@Suite("Redirect policies")
struct RedirectPolicyTests {
  private func authorized(_ url: String = "https://example.org/a") -> HTTPRequest {
    var request = HTTPRequest.get(url)
    request.headerFields[.authorization] = "Bearer sesame"
    request.headerFields[.ifMatch] = "\"1\""
    return request
  }

  /// A client that receives a chain of redirects and then a reply.
  private func redirected(to locations: String..., status: Int = 302) -> StubClient {
    StubClient { number, request in
      guard number < locations.count else { return .make(to: request, 200, [:], "[1]") }
      return .make(to: request, status, ["Location": locations[number]])
    }
  }

  struct Turn: Sendable, CustomStringConvertible {
    let status: Int
    let method: HTTPRequest.Method
    let result: HTTPRequest.Method
    var description: String { "\(status) of \(method)" }
  }

  @Test(arguments: [
    Turn(status: 301, method: .post, result: .get), Turn(status: 302, method: .post, result: .get),
    Turn(status: 303, method: .post, result: .get), Turn(status: 303, method: .put, result: .get),
    Turn(status: 301, method: .put, result: .put), Turn(status: 302, method: .delete, result: .delete),
    Turn(status: 303, method: .head, result: .head), Turn(status: 307, method: .post, result: .post),
    Turn(status: 308, method: .patch, result: .patch),
  ])
  func `the status of a redirect decides between the same method and GET`(turn: Turn) async throws {
    let base = redirected(to: "/b", status: turn.status)
    var request = authorized()
    request.method = turn.method
    request.headerFields[.contentType] = "text/plain"
    _ = try await base.redirecting().send(request, body: Data("text".utf8))
    let isKept = turn.method == turn.result
    #expect(base.requests.map(\.method) == [turn.method, turn.result])
    #expect(base.bodies == [Data("text".utf8), isKept ? Data("text".utf8) : nil])
    #expect(base.requests.last?.headerFields[.contentType] == (isKept ? "text/plain" : nil))
  }

  @Test(arguments: [
    ("https://example.org/b", true), ("https://EXAMPLE.org:443/b", true), ("//example.org/b", true), ("?page=2", true),
    ("https://example.org:8443/b", false), ("https://api.example.org/b", false), ("https://example.com/b", false),
    ("//example.com/b", false),
  ])
  func `an origin consists of scheme, host and port`(location: String, isSameOrigin: Bool) async throws {
    let base = redirected(to: location)
    _ = try await base.redirecting().send(authorized())
    #expect(base.requests.count == 2)
    #expect(base.requests.last?.headerFields[.authorization] == (isSameOrigin ? "Bearer sesame" : nil))
    // Content types and conditions are portable.
    #expect(base.requests.last?.headerFields[.ifMatch] == "\"1\"")
  }

  @Test func `a redirect from http to https changes the origin`() async throws {
    let base = redirected(to: "https://example.org/a")
    _ = try await base.redirecting().send(authorized("http://example.org/a"))
    #expect(base.requests.map { $0.headerFields[.authorization] } == ["Bearer sesame", nil])
  }

  @Test func `credentials removed by a redirect are not restored when a redirect leads back`() async throws {
    let base = redirected(to: "https://elsewhere.example/", "https://example.org/b")
    _ = try await base.redirecting().send(authorized())
    #expect(base.requests.map(\.authority) == ["example.org", "elsewhere.example", "example.org"])
    #expect(base.requests.map { $0.headerFields[.authorization] } == ["Bearer sesame", nil, nil])
  }

  @Test(arguments: ["http://example.org/sesame", "http://other.example/sesame", "ftp://example.org/sesame", "sms:1"])
  func `a redirect from https to http or to another scheme is refused`(location: String) async throws {
    let base = redirected(to: location)
    let error = try await #require(throws: CoherenceError.self) { try await base.redirecting().send(authorized()) }
    #expect(error.code == .httpRedirectRefused)
    #expect(!error.isRetryable)
    #expect(!"\(error)".contains("sesame"))
    #expect(base.requests.count == 1)
  }

  @Test func `a chain of redirects beyond the limit is an error`() async throws {
    let base = StubClient { number, request in .make(to: request, 302, ["Location": "/\(number)"]) }
    let client = base.redirecting(HTTPRedirectPolicy(maximumHops: 3))
    let error = try await #require(throws: CoherenceError.self) { try await client.send(authorized()) }
    #expect(error.code == .httpTooManyRedirects)
    #expect(base.requests.count == 4)
  }

  @Test func `a limit of zero makes every redirect an error`() async throws {
    let base = redirected(to: "/b")
    let client = base.redirecting(HTTPRedirectPolicy(maximumHops: 0))
    let error = try await #require(throws: CoherenceError.self) { try await client.send(authorized()) }
    #expect(error.code == .httpTooManyRedirects)
    #expect(base.requests.count == 1)
  }

  @Test func `a header field declared portable follows redirects to other origins`() async throws {
    let base = redirected(to: "https://elsewhere.example/")
    var policy = HTTPRedirectPolicy()
    policy.portableFields.insert(.authorization)
    _ = try await base.redirecting(policy).send(authorized())
    #expect(base.requests.last?.headerFields[.authorization] == "Bearer sesame")
  }

  @Test func `the reply after redirects belongs to the first request and has the last address`() async throws {
    let base = redirected(to: "/b", "https://elsewhere.example/c")
    let reply = try await base.redirecting().send(authorized())
    #expect(reply.request == authorized())
    #expect(reply.url?.absoluteString == "https://elsewhere.example/c")
  }

  @Test func `a client follows twenty redirects by default`() async throws {
    let base = StubClient { number, request in
      number < 20 ? .make(to: request, 302, ["Location": "/\(number)"]) : .make(to: request)
    }
    #expect(try await base.redirecting().send(authorized()).status == .ok)
    let endless = StubClient { number, request in .make(to: request, 302, ["Location": "/\(number)"]) }
    await #expect { try await endless.redirecting().send(authorized()) } throws: {
      ErrorCode.httpTooManyRedirects ~= $0
    }
    #expect(endless.requests.count == 21)
  }

  @Test func `a redirect that removes the body removes the header fields that describe the body`() async throws {
    let base = redirected(to: "/b", status: 303)
    var request = authorized()
    request.method = .post
    let names: [HTTPField.Name] = [
      .contentEncoding, .contentLanguage, .contentLength, .contentType, .transferEncoding,
    ]
    for name in names { request.headerFields[name] = "1" }
    _ = try await base.redirecting().send(request, body: Data("1".utf8))
    let last = try #require(base.requests.last)
    for name in names { #expect(last.headerFields[name] == nil, "\(name)") }
    #expect(last.headerFields[.ifMatch] == "\"1\"")
  }

  @Test(arguments: [200, 300, 304, 305, 400])
  func `a status other than that of a redirect is returned with its Location`(status: Int) async throws {
    let base = redirected(to: "/b", status: status)
    let reply = try await base.redirecting().send(authorized())
    #expect(reply.status.code == status && base.requests.count == 1)
  }

  @Test func `the header fields about content, caches, ranges and the client follow a redirect to another origin`()
    async throws
  {
    let base = redirected(to: "https://elsewhere.example/")
    let portable: [HTTPField.Name] = [
      .accept, .acceptEncoding, .acceptLanguage, .cacheControl, .connection, .contentEncoding, .contentLanguage,
      .contentType, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange, .ifUnmodifiedSince, .range, .userAgent,
    ]
    var request = HTTPRequest.get("https://example.org/a")
    for name in portable + [.authorization, .cookie, .referer, .origin] { request.headerFields[name] = "1" }
    _ = try await base.redirecting().send(request)
    let last = try #require(base.requests.last)
    #expect(Set(last.headerFields.map(\.name)) == Set(portable))
  }
}
