import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("Recordings")
struct ReplayTests {
  @Test func `a recording is replayed without a server`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let requests = try await record(to: file)
    let replay = try HTTPReplay(file: file)
    #expect(try await replay.send(requests[0], decoding: [Int].self) == [1])
    #expect(try await replay.send(requests[1]).status.code == 404)
    #expect(try await replay.send(requests[0], decoding: [Int].self) == [2])
    #expect(replay.remaining.isEmpty)
  }

  /// Records three exchanges with a server, and stops the server.
  private func record(to file: URL) async throws -> [HTTPRequest] {
    let server = try LoopbackServer(replies: [
      ScriptedReply(body: "[1]"), ScriptedReply(status: "404 Not Found"), ScriptedReply(body: "[2]"),
    ])
    let recorder = HTTPRecorder(URLSessionClient(maximumBodySize: .max, configuration: .patient))
    let requests = [HTTPRequest.get(server.url.appending(path: "a")), .get(server.url.appending(path: "b"))]
    for index in [0, 1, 0] { _ = try await recorder.send(requests[index]) }
    try recorder.write(to: file)
    return requests
  }

  @Test func `the error of a request without a recorded reply names the recorded requests`() async throws {
    let replay = HTTPReplay([HTTPExchange(url: "https://example.org/a", body: .text("[1]"))])
    let error = try await #require(throws: CoherenceError.self) {
      try await replay.send(.get("https://example.org/b"))
    }
    #expect(error.code == .httpUnmatchedRequest)
    #expect(error.message.contains("GET https://example.org/b") && error.message.contains("GET https://example.org/a"))
    _ = try await replay.send(.get("https://example.org/a"))
    await #expect(throws: CoherenceError.self) { try await replay.send(.get("https://example.org/a")) }
  }

  @Test func `a replay distinguishes requests by method and body`() async throws {
    let replay = HTTPReplay([
      HTTPExchange(method: "PUT", url: "https://example.org/a", requestBody: .text("2"), status: 202),
      HTTPExchange(method: "PUT", url: "https://example.org/a", requestBody: .text("1"), status: 201),
    ])
    var request = HTTPRequest.get("https://example.org/a")
    request.method = .put
    #expect(try await replay.send(request, body: Data("1".utf8)).status.code == 201)
    #expect(try await replay.send(request, body: Data("2".utf8)).status.code == 202)
  }

  @Test func `credentials are not recorded`() async throws {
    let client = StubClient { _, request in
      .make(to: request, 200, ["Set-Cookie": "session=secret", "ETag": "\"1\""], "[]")
    }
    let recorder = HTTPRecorder(client)
    var request = HTTPRequest.get("https://ada:secret@example.org/a?token=secret&page=1")
    request.headerFields[.authorization] = "Bearer secret"
    _ = try await recorder.send(request)
    let recording = try JSONEncoder().encode(recorder.exchanges)
    let text = String(decoding: recording, as: UTF8.self)
    for secret in ["secret", "Bearer", "session", "ada"] { #expect(!text.contains(secret)) }
    #expect(recorder.exchanges[0].url == "https://example.org/a?token=hidden-1&page=1")
    // Another token finds the same reply.
    let replay = HTTPReplay(recorder.exchanges)
    let reply = try await replay.send(.get("https://example.org/a?token=other&page=1"))
    #expect(reply.response.headerFields[.eTag] == "\"1\"")
  }

  @Test func `binary bodies are recorded without changes`() throws {
    let bytes = Data([0xFF, 0x00, 0xFE])
    let exchange = HTTPExchange(url: "https://example.org", body: HTTPRecordedBody(bytes))
    let copy = try JSONDecoder().decode(HTTPExchange.self, from: try JSONEncoder().encode(exchange))
    #expect(copy.body?.data == bytes)
  }
}
