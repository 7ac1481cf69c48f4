import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The names that a redaction knows without settings, and its use by a replay.
@Suite("The defaults of a redaction")
struct RedactionDefaultTests {
  private func record(
    _ request: HTTPRequest, _ fields: [String: String] = [:], reply: String = ""
  ) async throws -> HTTPExchange {
    let recorder = HTTPRecorder(StubClient { _, request in .make(to: request, 200, fields, reply) })
    _ = try await recorder.send(request)
    return try #require(recorder.exchanges.first)
  }

  private let request = HTTPRequest.get("https://example.org/a")

  @Test func `the parameters and header fields of paging and versions are recorded`() async throws {
    let url = "https://example.org/a?after=k1&page=2&version=v3"
    let fields = ["Accept-Ranges": "bytes", "X-Total-Pages": "7", "Age": "60"]
    let exchange = try await record(.get(url), fields)
    #expect(exchange.url == url)
    #expect(exchange.headerFields == fields)
  }

  @Test(arguments: [
    "access_key", "accessKeyID", "code_verifier", "verifier", "auth", "sig", "session_id", "refresh_token", "jwt",
  ])
  func `a field with the name of a secret is not recorded`(name: String) async throws {
    let exchange = try await record(request, reply: #"{"\#(name)":"sesame"}"#)
    #expect(exchange.body == .text(#"{"\#(name)":"hidden-1"}"#))
  }

  @Test(arguments: ["continuation_token", "nextPageToken", "token_type", "author", "signal", "pinned"])
  func `a field with the name of a cursor, or with a name that only contains one of a secret, is recorded`(
    name: String
  ) async throws {
    let reply = #"{"\#(name)":"k1"}"#
    #expect(try await record(request, reply: reply).body == .text(reply))
  }

  @Test(arguments: ["-5", "-0.5e-3", "0", "1E+2", "false"])
  func `a secret is found beside numbers of every form`(number: String) async throws {
    let exchange = try await record(request, reply: #"{"n":\#(number),"token":"sesame"}"#)
    #expect(exchange.body == .text(#"{"n":\#(number),"token":"hidden-1"}"#))
  }

  @Test(arguments: ["nan", "inf", "+5", "TRUE"])
  func `a reply with a value that JSON lacks is no JSON, and is recorded without changes`(value: String) async throws {
    let reply = #"{"n":\#(value),"token":"sesame"}"#
    #expect(try await record(request, reply: reply).body == .text(reply))
  }

  @Test func `a replay prefers a form with equal values to a form with placeholders`() async throws {
    let replay = HTTPReplay([
      HTTPExchange(url: "https://example.org/a", requestBody: .text("user=hidden-1&page=2"), status: 201),
      HTTPExchange(url: "https://example.org/a", requestBody: .text("user=ada&page=2"), status: 202),
    ])
    #expect(try await replay.send(request, body: Data("user=ada&page=2".utf8)).status.code == 202)
    #expect(try await replay.send(request, body: Data("user=eve&page=2".utf8)).status.code == 201)
  }

  @Test(arguments: [true, false])
  func `the error of an unmatched request has the values that the redaction allows`(isRead: Bool) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    var redaction = HTTPRedaction()
    redaction.allowedParameters.insert("artist")
    try HTTPRecorder(StubClient { _, request in .make(to: request) }).write(to: file)
    let replay = try isRead ? HTTPReplay(file: file, redaction: redaction) : HTTPReplay([], redaction: redaction)
    let error = try await #require(throws: CoherenceError.self) {
      try await replay.send(.get("https://example.org/a?artist=7&song=8"))
    }
    #expect(error.message.contains("GET https://example.org/a?artist=7&song=hidden-1."))
  }
}
