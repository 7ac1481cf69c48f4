import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A client with a real server, under failures of server and network.
@Suite("Transfers")
struct TransferTests {

  private struct Album: Codable, Equatable {
    var title: String
  }

  @Test(arguments: ClientKind.allCases)
  func `a reply has the status, header fields and body of the server`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(
      replies: [ScriptedReply(headerFields: ["ETag: \"one\""], body: #"[{"title":"Blue"}]"#)])
    let reply = try await client.send(.get(server.url.appending(path: "albums")))
    #expect(reply.status == .ok)
    #expect(reply.response.headerFields[.eTag] == "\"one\"")
    #expect(try reply.decode([Album].self) == [Album(title: "Blue")])
    #expect(server.requests.map(\.target) == ["/albums"])
    #expect(server.requests.map(\.method) == ["GET"])
  }

  @Test(arguments: ClientKind.allCases)
  func `the server receives the header fields of the request`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply()])
    var request = HTTPRequest.get(server.url)
    request.headerFields[.authorization] = "Bearer secret"
    _ = try await client.send(request)
    #expect(server.requests.first?.headerFields["authorization"] == "Bearer secret")
  }

  @Test(
    arguments: ClientKind.allCases, [(400, false), (401, false), (404, false), (429, true), (500, true), (503, true)])
  func `decoding a reply without success throws the status`(kind: ClientKind, refusal: (status: Int, isRetryable: Bool))
    async throws
  {
    let client = kind.makeClient()
    let server = try LoopbackServer(
      replies: [
        ScriptedReply(status: "\(refusal.status) Refused", headerFields: ["Retry-After: 7"], body: "secret body")
      ])
    let reply = try await client.send(.get(server.url.appending(path: "ada@example.org").appending(path: "token-123")))
    let error = try #require(throws: CoherenceError.self) { try reply.decode([Album].self) }
    #expect(error.code == .httpStatus)
    #expect(error.isRetryable == refusal.isRetryable)
    let failure = try #require(error.underlying as? HTTPFailure)
    #expect(failure.status == refusal.status)
    #expect(failure.retryAfter == "7")
    for secret in ["secret body", "ada@", "token-123"] {
      #expect(!"\(error) \(failure)".contains(secret), "The error tells what it should keep.")
    }
  }

  @Test(arguments: ClientKind.allCases, ["<html>", "", #"{"title":1}"#, #"[{"title":null}]"#, #"[{"name":"secret"}]"#])
  func `the error of an invalid body does not quote the body`(kind: ClientKind, body: String) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply(body: body)])
    let reply = try await client.send(.get(server.url))
    let error = try #require(throws: CoherenceError.self) { try reply.decode([Album].self) }
    #expect(error.code == .httpUnreadable)
    #expect(!"\(error)".contains("secret") && !"\(error)".contains("html"))
  }

  @Test(arguments: ClientKind.allCases)
  func `a challenge without a credential is returned as a reply`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let challenge = #"WWW-Authenticate: Basic realm="albums""#
    let server = try LoopbackServer(
      replies: [ScriptedReply(status: "401 Unauthorized", headerFields: [challenge], body: "Who are you?")])
    let reply = try await client.send(.get(server.url))
    #expect(reply.status == .unauthorized)
    #expect(reply.response.headerFields[.wwwAuthenticate] == #"Basic realm="albums""#)
    #expect(server.requests.count == 1)
  }

  @Test(arguments: ClientKind.allCases)
  func `a decoding error says that the outermost value is of another type`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply(body: #"{"title":"secret"}"#)])
    let reply = try await client.send(.get(server.url))
    let error = try #require(throws: CoherenceError.self) { try reply.decode([Album].self) }
    #expect(error.message.contains("its outermost value is of another type") && !error.message.contains("''"))
  }

  @Test(arguments: ClientKind.allCases)
  func `a decoding error names properties of types and no keys of dictionaries`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    struct Shelf: Codable { var copies: [String: Int] }
    let server = try LoopbackServer(replies: [ScriptedReply(body: #"[{"copies":{"ada@example.org":"many"}}]"#)])
    let reply = try await client.send(.get(server.url))
    let error = try #require(throws: CoherenceError.self) { try reply.decode([Shelf].self) }
    #expect(error.code == .httpUnreadable)
    #expect(error.message.contains("copies") && !error.message.contains("ada@"))
  }

  @Test(arguments: ClientKind.allCases)
  func `a truncated body is an error`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: 100) + #"[{"title":"#)
    }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpTransferFailed)
    #expect(error.isRetryable)
  }

  @Test(arguments: ClientKind.allCases)
  func `a connection that the server closes at once is an error`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer { _, _ in }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpTransferFailed)
  }

  @Test(arguments: ClientKind.allCases)
  func `the error of an unreachable server does not contain the path`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    // No server listens on the discard port.
    let request = HTTPRequest.get("http://ada:password@127.0.0.1:9/private?token=secret")
    let error = try await #require(throws: CoherenceError.self) { try await client.send(request) }
    #expect(error.code == .httpTransferFailed)
    for secret in ["password", "private", "secret", "ada"] { #expect(!"\(error)".contains(secret)) }
  }

  @Test(arguments: ClientKind.allCases)
  func `a request to a silent server times out and closes the connection`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let isClosed = Gate()
    let clock = GatedClock()
    let server = try LoopbackServer { _, connection in
      clock.ring()
      connection.waitUntilClientCloses()
      isClosed.open()
    }
    let impatient = client.limited(to: .seconds(60), clock: clock)
    let error = try await #require(throws: CoherenceError.self) { try await impatient.send(.get(server.url)) }
    #expect(error.code == .httpTimedOut)
    #expect(error.isRetryable)
    await isClosed.wait()
  }

  @Test(arguments: ClientKind.allCases)
  func `cancelling during a body closes the connection`(kind: ClientKind) async throws {
    let reply = try UnfinishedReply(ScriptedReply().head(length: 1_000_000) + String(repeating: "x", count: 1000))
    try await reply.cancelRequest(of: kind.makeClient())
  }

  @Test(arguments: ClientKind.allCases)
  func `a cancelled task sends no request`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply()])
    let gate = Gate()
    let task = Task {
      await gate.wait()
      return try await client.send(.get(server.url))
    }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.requests.isEmpty)
  }
}
