import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("The limit of a body's size")
struct BodyLimitTests {
  private static let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

  @Test(arguments: ClientKind.allCases)
  func `a body within the limit arrives as a whole`(kind: ClientKind) async throws {
    let client = kind.makeClient(maximumBodySize: 10_000)
    let text = String(repeating: "x", count: 10_000)
    let server = try LoopbackServer { request, connection in
      if request.target == "/" {
        connection.send(ScriptedReply(body: text))
      } else {
        connection.send(Self.head + text)
      }
    }
    for path in ["", "unannounced"] {
      let reply = try await client.send(.get(server.url.appending(path: path)))
      #expect(reply.status == .ok)
      #expect(reply.body == Data(text.utf8))
    }
  }

  @Test(arguments: ClientKind.allCases, [true, false])
  func `a body beyond the limit is an error, and the connection is closed`(kind: ClientKind, isAnnounced: Bool)
    async throws
  {
    let client = kind.makeClient(maximumBodySize: 10_000)
    let isClosed = Gate()
    let server = try LoopbackServer { _, connection in
      connection.send(isAnnounced ? ScriptedReply().head(length: 1_000_000) : Self.head)
      connection.send(String(repeating: "x", count: 100_000))
      connection.waitUntilClientCloses()
      isClosed.open()
    }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpBodyTooLarge)
    #expect(!error.isRetryable)
    await isClosed.wait()
  }

  @Test(arguments: ClientKind.allCases)
  func `a size limit does not affect redirects, statuses and broken connections`(kind: ClientKind) async throws {
    let client = kind.makeClient(maximumBodySize: 10_000)
    let server = try LoopbackServer { request, connection in
      switch request.target {
      case "/old": connection.send(ScriptedReply(status: "307 Moved", headerFields: ["Location: /new"], body: "Moved"))
      case "/new": connection.send(ScriptedReply(status: "404 Not Found", body: "[1]"))
      case "/private":
        let challenge = #"WWW-Authenticate: Basic realm="albums""#
        connection.send(ScriptedReply(status: "401 Unauthorized", headerFields: [challenge]))
      default: connection.send(ScriptedReply().head(length: 100) + "[")
      }
    }
    let reply = try await client.send(.get(server.url.appending(path: "old")))
    #expect(reply.status == .notFound)
    #expect(reply.body == Data("[1]".utf8))
    let refusal = try await client.send(.get(server.url.appending(path: "private")))
    #expect(refusal.status == .unauthorized)
    let error = try await #require(throws: CoherenceError.self) {
      try await client.send(.get(server.url.appending(path: "half")))
    }
    #expect(error.code == .httpTransferFailed)
  }

  @Test(arguments: ClientKind.allCases)
  func `cancelling closes the connection of a client with a limit`(kind: ClientKind) async throws {
    let reply = try UnfinishedReply(ScriptedReply().head(length: 5_000) + "x")
    try await reply.cancelRequest(of: kind.makeClient(maximumBodySize: 10_000))
  }
}
