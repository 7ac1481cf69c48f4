import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// The requests that get a recorded reply.
@Suite("Matching of recorded requests")
struct ReplayMatchingTests {
  /// Whether a request gets the only reply of a recording.
  private func isMatch(_ exchange: HTTPExchange, _ request: HTTPRequest, _ body: Data? = nil) async throws -> Bool {
    let replay = HTTPReplay([exchange])
    do {
      _ = try await replay.send(request, body: body)
      return true
    } catch let error as CoherenceError where error.code == .httpUnmatchedRequest {
      #expect(replay.remaining == [exchange])
      return false
    }
  }

  @Test(arguments: [
    ("token=hidden-1", "token=x"), ("token=hidden", "token=x"), ("token=hidden-1", "token="),
    ("page=1&token=hidden-1", "page=1&token=x"), ("hidden-1", "secret"),
  ])
  func `a placeholder in an address stands for the value of one parameter`(recorded: String, asked: String) async throws
  {
    let exchange = HTTPExchange(url: "https://example.org/a?\(recorded)")
    #expect(try await isMatch(exchange, .get("https://example.org/a?\(asked)")))
  }

  @Test(arguments: [
    ("token=hidden-1", "token=x&page=2"), ("token=hidden-1", "key=x"), ("page=1&token=hidden-1", "page=2&token=x"),
    ("token=hiddenly", "token=x"), ("token=hidden-", "token=x"), ("token=hidden-x", "token=x"),
    ("token=hidden+1", "token=x"), ("hidden-1", "key=secret"), ("page", "secret"),
  ])
  func `a placeholder in an address stands for no name, and no other text is a placeholder`(
    recorded: String, asked: String
  ) async throws {
    let exchange = HTTPExchange(url: "https://example.org/a?\(recorded)")
    #expect(try await !isMatch(exchange, .get("https://example.org/a?\(asked)")))
  }

  @Test(arguments: ["https://example.org/b?token=x", "https://example.com/a?token=x", "https://example.org/a"])
  func `an address with a placeholder matches no other path, and no address without parameters`(
    address: String
  ) async throws {
    let exchange = HTTPExchange(url: "https://example.org/a?token=hidden-1")
    #expect(try await !isMatch(exchange, .get(address)))
  }

  private func isMatch(_ recorded: HTTPRecordedBody?, _ asked: Data?) async throws -> Bool {
    let exchange = HTTPExchange(method: "PUT", url: "https://example.org/a", requestBody: recorded)
    var request = HTTPRequest.get("https://example.org/a")
    request.method = .put
    return try await isMatch(exchange, request, asked)
  }

  @Test(arguments: [
    (#"{"a":1,"b":[1,2]}"#, true), (#" { "b" : [ 1, 2 ], "a" : 1 } "#, true), (#"{"a":1,"b":[2,1]}"#, false),
    (#"{"a":1,"b":[1,2,3]}"#, false), (#"{"a":1,"b":[1]}"#, false), (#"{"a":1}"#, false),
    (#"{"a":1,"b":[1,2],"c":null}"#, false), (#"{"a":1.0,"b":[1,2]}"#, false), (#"{"a":"1","b":[1,2]}"#, false),
    (#"{"a":1,"c":[1,2]}"#, false), (#"[1,[1,2]]"#, false), ("a=1", false),
  ])
  func `a recorded JSON body matches equal JSON in any order of members`(asked: String, isMatch: Bool) async throws {
    #expect(try await self.isMatch(.text(#"{"a":1,"b":[1,2]}"#), Data(asked.utf8)) == isMatch)
  }

  @Test(arguments: [
    (#"{"title":"Blue","login":[{"pin":5713}],"key":{"x":1}}"#, true),
    (#"{"key":"y","title":"Blue","login":[{"pin":[]}]}"#, true),
    (#"{"title":"Red","login":[{"pin":5713}],"key":"y"}"#, false),
    (#"{"title":"Blue","login":[{"pin":5713},1],"key":"y"}"#, false),
    (#"{"title":"Blue","login":[{"pen":5713}],"key":"y"}"#, false),
  ])
  func `a placeholder in a JSON body stands for any value of its field`(asked: String, isMatch: Bool) async throws {
    let recorded = #"{"title":"Blue","login":[{"pin":"hidden-1"}],"key":"hidden-2"}"#
    #expect(try await self.isMatch(.text(recorded), Data(asked.utf8)) == isMatch)
  }

  @Test(arguments: [
    ("user=ada&page=2", true), ("user=&page=2", true), ("user=ada&page=3", false), ("user=ada", false), ("", false),
  ])
  func `a placeholder in a form stands for the value of its parameter`(asked: String, isMatch: Bool) async throws {
    #expect(try await self.isMatch(.text("user=hidden-1&page=2"), Data(asked.utf8)) == isMatch)
  }

  @Test func `a placeholder for a whole body stands for every body but an empty one`() async throws {
    #expect(try await isMatch(.text("hidden-1"), Data("<title>Blue</title>".utf8)))
    #expect(try await isMatch(.text("hidden-1"), Data([0xFF, 0x00])))
    #expect(try await !isMatch(.text("hidden-1"), Data()))
    #expect(try await !isMatch(.text("hidden-1"), nil))
  }

  @Test func `a recorded body of other bytes matches equal bytes only`() async throws {
    #expect(try await isMatch(.base64(Data([0xFF, 0x00])), Data([0xFF, 0x00])))
    #expect(try await !isMatch(.base64(Data([0xFF, 0x00])), Data([0xFF, 0x01])))
    #expect(try await isMatch(nil, nil))
    #expect(try await !isMatch(nil, Data("1".utf8)))
  }

  @Test func `a replay prefers equal JSON in another order of members to a placeholder`() async throws {
    let replay = HTTPReplay([
      HTTPExchange(url: "https://example.org/a", requestBody: .text(#"{"user":"hidden-1","n":1}"#), status: 201),
      HTTPExchange(url: "https://example.org/a", requestBody: .text(#"{"user":"ada","n":1}"#), status: 202),
    ])
    let reply = try await replay.send(.get("https://example.org/a"), body: Data(#"{"n":1,"user":"ada"}"#.utf8))
    #expect(reply.status.code == 202)
  }

  @Test func `a cancelled task gets no recorded reply, and leaves the reply to a later request`() async throws {
    let replay = HTTPReplay([HTTPExchange(url: "https://example.org/a")])
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await replay.send(.get("https://example.org/a"))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(replay.remaining.count == 1)
  }

  @Test func `the error of a request after the last reply says that all replies have been returned`() async throws {
    let replay = HTTPReplay([HTTPExchange(url: "https://example.org/a")])
    _ = try await replay.send(.get("https://example.org/a"))
    let error = try await #require(throws: CoherenceError.self) {
      try await replay.send(.get("https://example.org/a"))
    }
    #expect(error.message.contains("All its replies have been returned"))
  }

  @Test func `the file of a replay has to exist and to be a recording`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    #expect { try HTTPReplay(file: file) } throws: { ErrorCode.inputOutput ~= $0 }
    try Data("{}".utf8).write(to: file)
    #expect { try HTTPReplay(file: file) } throws: { ErrorCode.inputOutput ~= $0 }
  }
}
