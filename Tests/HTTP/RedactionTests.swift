import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("Redaction")
struct RedactionTests {
  /// Records one exchange.
  private func record(
    _ request: HTTPRequest, body: String? = nil, fields: [String: String] = [:], reply: String = "",
    redaction: HTTPRedaction = HTTPRedaction()
  ) async throws -> HTTPExchange {
    let service = StubClient { _, request in .make(to: request, 200, fields, reply) }
    let recorder = HTTPRecorder(service, redaction: redaction)
    _ = try await recorder.send(request, body: body.map { Data($0.utf8) })
    return try #require(recorder.exchanges.first)
  }

  private func text(_ exchange: HTTPExchange) throws -> String {
    String(decoding: try JSONEncoder().encode(exchange), as: UTF8.self)
  }

  private func post(_ url: String = "https://example.org/a", type: String = "application/json") -> HTTPRequest {
    var request = HTTPRequest.get(url)
    request.method = .post
    request.headerFields[.contentType] = type
    return request
  }

  @Test(arguments: [513, 100_000])
  func `a reply with too many levels of nesting is not recorded`(depth: Int) async throws {
    let reply =
      String(repeating: "[", count: depth) + #"{"access_token":"sesame"}"# + String(repeating: "]", count: depth)
    let exchange = try await record(.get("https://example.org/a"), reply: reply)
    #expect(try !text(exchange).contains("sesame"))
  }

  @Test(arguments: [600, 100_000])
  func `JSON with too many levels of nesting is unreadable`(depth: Int) async throws {
    let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let error = await Task.detached {
      let reply = HTTPReply.make(to: .get("https://example.org/a"), 200, [:], nested)
      return #expect(throws: CoherenceError.self) { try reply.decode([Nested].self) }
    }.value
    #expect(error?.code == .httpUnreadable)
  }

  private struct Nested: Decodable {
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      if !container.isAtEnd { _ = try container.decode(Nested.self) }
    }
  }

  @Test func `secrets in addresses, bodies and header fields are not recorded`() async throws {
    let exchange = try await record(
      post("https://example.org/a?X-Amz-Signature=sesame&code=sesame&page=1"),
      body: #"{"user":"ada","password":"sesame","nested":{"client_secret":["sesame"]},"pin":5713}"#,
      fields: [
        "Location": "https://ada:sesame@example.org/b?code=sesame&page=2#access_token=sesame",
        "Link": "<https://example.org/a?sid=sesame&page=2>; rel=\"next\"", "Set-Cookie": "session=sesame",
        "X-Auth-Token": "sesame", "Content-Type": "application/json",
      ],
      reply: #"{"access_token":"sesame","expires_in":3600,"token_type":"bearer","refreshToken":"sesame"}"#)
    let recording = try text(exchange)
    #expect(!recording.contains("sesame") && !recording.contains("5713"), "\(recording)")
    #expect(exchange.url == "https://example.org/a?X-Amz-Signature=hidden-1&code=hidden-1&page=1")
    #expect(exchange.headerFields["Location"] == "https://example.org/b?code=hidden-1&page=2")
    #expect(exchange.headerFields["Link"] == "<https://example.org/a?sid=hidden-1&page=2>; rel=\"next\"")
    #expect(exchange.headerFields["Content-Type"] == "application/json")
    let reply = #"{"access_token":"hidden-1","expires_in":3600,"token_type":"bearer","refreshToken":"hidden-1"}"#
    #expect(exchange.body == .text(reply))
  }

  @Test func `a form keeps the values of allowed parameters only`() async throws {
    let request = post(type: "application/x-www-form-urlencoded; charset=utf-8")
    let exchange = try await record(request, body: "grant_type=password&username=ada&password=open%20sesame")
    #expect(exchange.requestBody == .text("grant_type=password&username=hidden-1&password=hidden-2"))
  }

  @Test func `a request's body other than JSON and forms is recorded only on request`() async throws {
    let hidden = try await record(post(type: "text/xml"), body: "<password>sesame</password>")
    #expect(hidden.requestBody == .text("hidden-1"))
    var redaction = HTTPRedaction()
    redaction.recordsOpaqueBodies = true
    let body = "<title>Blue</title>"
    let recorded = try await record(post(type: "text/xml"), body: body, redaction: redaction)
    #expect(recorded.requestBody == .text(body))
  }

  @Test func `recorded numbers keep every digit`() async throws {
    let reply = #"{ "price": 1.10, "id": 12345678901234567890, "nextPageToken": "a\u0062c", "tokens": 3 }"#
    let exchange = try await record(.get("https://example.org/a"), reply: reply)
    #expect(exchange.body == .text(reply))
    let secret = #"{"price": 1.10, "pass\u0077ord": "sesame" , "titles": ["Blue"]}"#
    let redacted = try await record(.get("https://example.org/a"), reply: secret)
    #expect(redacted.body == .text(secret.replacingOccurrences(of: "sesame", with: "hidden-1")))
  }

  @Test func `with a list of allowed names only their values are recorded`() async throws {
    let request = HTTPRequest.get("https://example.org/a?artistID=7&mode=fast")
    let exchange = try await record(request, fields: ["X-Catalog": "jazz"])
    #expect(exchange.url == "https://example.org/a?artistID=hidden-1&mode=hidden-2")
    #expect(exchange.headerFields["X-Catalog"] == "hidden-3")
    var redaction = HTTPRedaction()
    redaction.allowedParameters.insert("artist_id")
    redaction.allowedHeaderFields.insert("x-catalog")
    let allowed = try await record(request, fields: ["X-Catalog": "jazz"], redaction: redaction)
    #expect(allowed.url == "https://example.org/a?artistID=7&mode=hidden-1")
    #expect(allowed.headerFields["X-Catalog"] == "jazz")
  }

  @Test func `the words and names of secret fields, and the names of allowed fields, are settings`() async throws {
    var redaction = HTTPRedaction()
    redaction.secretWords = ["nickname"]
    redaction.secretNames = ["tag"]
    redaction.allowedFields = ["public_nickname"]
    let reply = #"{"userNickname":"ada","publicNickname":"bob","tag":"cat","tags":"dog","password":"eve"}"#
    let exchange = try await record(.get("https://example.org/a"), reply: reply, redaction: redaction)
    let expected = #"{"userNickname":"hidden-1","publicNickname":"bob","tag":"hidden-2","tags":"dog","password":"eve"}"#
    #expect(exchange.body == .text(expected))
  }

  @Test func `a recording has the address that a redirect led to, without secrets`() async throws {
    let client = StubClient { _, request in
      let url = URL(string: "https://example.org/b?page=1&token=sesame")
      return HTTPReply(to: request, response: HTTPResponse(status: .ok), url: url)
    }
    let recorder = HTTPRecorder(client)
    let request = HTTPRequest.get("https://example.org/a")
    _ = try await recorder.send(request)
    let address = "https://example.org/b?page=1&token=hidden-1"
    #expect(recorder.exchanges.map(\.replyURL) == [address])
    let reply = try await HTTPReplay(recorder.exchanges).send(request)
    #expect(reply.url?.absoluteString == address)
  }

  @Test func `a replay matches requests whose secrets differ`() async throws {
    let recorded = try await record(
      post("https://example.org/a?token=sesame"), body: #"{"user":"ada","password":"sesame"}"#, reply: "[1]")
    let replay = HTTPReplay([recorded])
    let request = post("https://example.org/a?token=other")
    await #expect(throws: CoherenceError.self) {
      try await replay.send(request, body: Data(#"{"password":"other","user":"bob"}"#.utf8))
    }
    let reply = try await replay.send(request, body: Data(#"{"password":"other","user":"ada"}"#.utf8))
    #expect(try reply.decode([Int].self) == [1])
    #expect(replay.remaining.isEmpty)
  }

  @Test func `a replay prefers an exact match to a match without secrets`() async throws {
    let replay = HTTPReplay([
      HTTPExchange(url: "https://example.org/a?artist=hidden-1", status: 201),
      HTTPExchange(url: "https://example.org/a?artist=hidden-2", status: 202),
      HTTPExchange(url: "https://example.org/a?artist=7", status: 203),
    ])
    var statuses: [Int] = []
    for artist in ["7", "hidden-2", "7"] {
      statuses.append(try await replay.send(.get("https://example.org/a?artist=\(artist)")).status.code)
    }
    #expect(statuses == [203, 202, 201])
  }

  @Test func `pages with redacted cursors are replayed in their order`() async throws {
    let service = StubClient { number, request in
      let link = "<https://example.org/items?bookmark=sesame\(number)>; rel=next"
      return .make(to: request, 200, number < 3 ? ["Link": link] : [:], "[\(number)]")
    }
    let recorder = HTTPRecorder(service)
    let request = HTTPRequest.get("https://example.org/items")
    for try await _ in recorder.pages(of: [Int].self, from: request, by: .linkHeader()) {}
    let recording = try JSONEncoder().encode(recorder.exchanges)
    #expect(!String(decoding: recording, as: UTF8.self).contains("sesame"))
    var items: [Int] = []
    let replay = HTTPReplay(recorder.exchanges)
    for try await page in replay.pages(of: [Int].self, from: request, by: .linkHeader()) { items += page.content }
    #expect(items == [0, 1, 2, 3])
  }

  @Test func `only the owner can read a recording, also one that replaces a file`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let recorder = HTTPRecorder(StubClient { _, request in .make(to: request) })
    for permissions in [nil, 0o644] {
      if let permissions {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
      }
      _ = try await recorder.send(.get("https://example.org/a"))
      try recorder.write(to: file)
      let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
    let replay = try HTTPReplay(file: file)
    #expect(replay.remaining.count == 2)
  }

  @Test func `writing a recording into a missing directory throws`() throws {
    let recorder = HTTPRecorder(StubClient { _, request in .make(to: request) })
    let error = try #require(throws: CoherenceError.self) {
      try recorder.write(to: URL(fileURLWithPath: "/nowhere/recording.json"))
    }
    #expect(error.code == .inputOutput)
  }

  @Test func `the error of an unmatched request contains no secrets`() async throws {
    let replay = HTTPReplay([HTTPExchange(url: "https://example.org/b?token=sesame")])
    let error = try await #require(throws: CoherenceError.self) {
      try await replay.send(.get("https://example.org/a?token=sesame"))
    }
    #expect(error.message.contains("https://example.org/a?token=hidden-1"))
    #expect(!"\(error)".contains("sesame"))
  }
}
