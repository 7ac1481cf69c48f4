import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Redirects between real servers. Two ports of one host are two origins.
@Suite("Redirects")
struct RedirectTests {

  private func makeServer(redirectingTo url: URL, status: Int) throws -> LoopbackServer {
    try LoopbackServer(replies: [
      ScriptedReply(
        status: "\(status) Moved", headerFields: ["Location: \(url.absoluteString)"], body: "<html>Moved</html>")
    ])
  }

  private func authorized(_ url: URL, method: HTTPRequest.Method = .get) throws -> HTTPRequest {
    let key = try #require(HTTPField.Name("X-Api-Key"))
    var request = HTTPRequest(method: method, url: url)
    request.headerFields[.authorization] = "Bearer sesame"
    request.headerFields[.cookie] = "session=sesame"
    request.headerFields[key] = "sesame"
    request.headerFields[.accept] = "application/json"
    return request
  }

  @Test(arguments: ClientKind.allCases, [301, 302, 303, 307, 308])
  func `credentials do not follow a redirect to another origin`(kind: ClientKind, status: Int) async throws {
    let client = kind.makeClient()
    let target = try LoopbackServer(replies: [ScriptedReply(body: "[1]")])
    let source = try makeServer(redirectingTo: target.url.appending(path: "moved"), status: status)
    let request = try authorized(source.url)
    let reply = try await client.send(request)
    #expect(try reply.decode([Int].self) == [1])
    #expect(source.requests.first?.headerFields["authorization"] == "Bearer sesame")
    let received = try #require(target.requests.first)
    #expect(received.target == "/moved")
    #expect(received.headerFields.values.filter { $0.contains("sesame") } == [])
    #expect(received.headerFields["accept"] == "application/json")
    #expect(reply.request == request)
    #expect(reply.url == target.url.appending(path: "moved"))
  }

  @Test(arguments: ClientKind.allCases)
  func `credentials follow a redirect within an origin`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer { request, connection in
      let moved = ScriptedReply(status: "302 Found", headerFields: ["Location: /new?page=2"])
      connection.send(request.target == "/old" ? moved : ScriptedReply(body: "[1]"))
    }
    let reply = try await client.send(try authorized(server.url.appending(path: "old")))
    #expect(reply.status == .ok)
    #expect(server.requests.map(\.target) == ["/old", "/new?page=2"])
    #expect(server.requests.last?.headerFields["authorization"] == "Bearer sesame")
    #expect(server.requests.last?.headerFields["x-api-key"] == "sesame")
  }

  @Test(arguments: ClientKind.allCases, [(307, HTTPRequest.Method.put), (307, .post), (308, .put), (308, .post)])
  func `a temporary redirect keeps method and body`(
    kind: ClientKind, redirect: (status: Int, method: HTTPRequest.Method)
  ) async throws {
    let client = kind.makeClient()
    let target = try LoopbackServer(replies: [ScriptedReply()])
    let source = try makeServer(redirectingTo: target.url, status: redirect.status)
    var request = try authorized(source.url, method: redirect.method)
    request.headerFields[.contentType] = "application/json"
    let reply = try await client.send(request, body: Data(#"{"title":"Blue"}"#.utf8))
    #expect(reply.status == .ok)
    let received = try #require(target.requests.first)
    #expect(received.method == redirect.method.rawValue)
    #expect(String(decoding: received.body, as: UTF8.self) == #"{"title":"Blue"}"#)
    #expect(received.headerFields["content-type"] == "application/json")
    #expect(received.headerFields["authorization"] == nil)
  }

  @Test func `header fields of the session do not follow a redirect to another origin`() async throws {
    let configuration = URLSessionConfiguration.patient
    configuration.httpAdditionalHeaders = ["X-Api-Key": "sesame", "Accept-Language": "de"]
    let client = URLSessionClient(session: URLSession(configuration: configuration))
    let target = try LoopbackServer(replies: [ScriptedReply()])
    let source = try makeServer(redirectingTo: target.url, status: 302)
    for _ in 1...2 { _ = try await client.send(.get(source.url)) }
    #expect(source.requests.map { $0.headerFields["x-api-key"] } == ["sesame", "sesame"])
    #expect(target.requests.map { $0.headerFields["x-api-key"] } == [nil, nil])
    #expect(target.requests.map { $0.headerFields["accept-language"] } == ["de", "de"])
  }

  @Test(arguments: ClientKind.allCases)
  func `a client without redirects returns the redirect as a reply`(kind: ClientKind) async throws {
    let target = try LoopbackServer(replies: [ScriptedReply()])
    let source = try makeServer(redirectingTo: target.url, status: 307)
    let reply = try await kind.makeClient(redirects: .manual).send(.get(source.url))
    #expect(reply.status == .temporaryRedirect)
    #expect(reply.response.headerFields[.location] == target.url.absoluteString)
    #expect(target.requests.isEmpty)
  }

  // The library of the client on SwiftNIO ends the process at a port of more than 16 bits.
  @Test(arguments: ClientKind.allCases)
  func `a redirect to a port out of range is refused`(kind: ClientKind) async throws {
    let server = try LoopbackServer(replies: [
      ScriptedReply(status: "302 Found", headerFields: ["Location: http://127.0.0.1:65536/"])
    ])
    let error = try await #require(throws: CoherenceError.self) {
      try await kind.makeClient().send(.get(server.url))
    }
    #expect(error.code == .httpRedirectRefused && !error.isRetryable)
  }

  @Test(arguments: ClientKind.allCases)
  func `a redirect without Location is returned as a reply`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply(status: "302 Found")])
    #expect(try await client.send(.get(server.url)).status == .found)
    #expect(server.requests.count == 1)
  }
}
