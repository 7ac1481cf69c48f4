import CoherenceAsyncHTTP
import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Connections that end at any byte of a reply, in its head too.
@Suite("Replies that end early", .timeLimit(.minutes(15)))
struct ReplyCutTests {
  private let client = NIOClient.patient()

  /// A whole reply, in each form in which a server announces the end of a body.
  enum Form: String, CaseIterable, Sendable {
    case length, chunks, compressed, unchanged, informational

    private static let fields = "Content-Type: text/plain\r\nETag: \"one\"\r\nConnection: close\r\n"

    var bytes: Data {
      switch self {
      case .length: return Data("HTTP/1.1 200 OK\r\n\(Self.fields)Content-Length: 9\r\n\r\nsome text".utf8)
      case .chunks:
        let chunks = "4\r\nsome\r\n5\r\n text\r\n0\r\n\r\n"
        return Data("HTTP/1.1 200 OK\r\n\(Self.fields)Transfer-Encoding: chunked\r\n\r\n\(chunks)".utf8)
      case .compressed:
        let body = CompressedText.gzip
        let fields = "\(Self.fields)Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n"
        return Data("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8) + body
      case .unchanged: return Data("HTTP/1.1 304 Not Modified\r\n\(Self.fields)Content-Length: 9\r\n\r\n".utf8)
      case .informational:
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
        return Data("\(hints)HTTP/1.1 200 OK\r\n\(Self.fields)Content-Length: 9\r\n\r\nsome text".utf8)
      }
    }
  }

  /// A server that sends a number of bytes of a reply to the first request, and whole replies to the next ones.
  private func makeServer(_ form: Form, cuttingAt count: Int) throws -> LoopbackServer {
    let isFirst = Atomic(true)
    return try LoopbackServer { _, connection in
      let wasFirst = isFirst.exchange(false, ordering: .relaxed)
      connection.send(wasFirst ? form.bytes.prefix(count) : form.bytes)
    }
  }

  @Test(arguments: Form.allCases)
  func `a reply that ends at any byte is an error, and a retry succeeds`(form: Form) async throws {
    for count in 0..<form.bytes.count {
      let server = try makeServer(form, cuttingAt: count)
      let error = try await #require(throws: CoherenceError.self, "byte \(count)") {
        try await client.send(.get(server.url))
      }
      #expect(error.code == .httpTransferFailed && error.isRetryable, "byte \(count)")
      #expect(error.underlying is HTTPFailure)
      let reply = try await client.send(.get(server.url))
      #expect(String(decoding: reply.body, as: UTF8.self) == (form == .unchanged ? "" : "some text"))
    }
  }

  @Test(arguments: [Form.length, .chunks, .compressed])
  func `a stream that ends at any byte is an error of the head or of the body`(form: Form) async throws {
    let head = try #require(form.bytes.range(of: Data("\r\n\r\n".utf8))).upperBound
    for count in 0..<form.bytes.count {
      let server = try makeServer(form, cuttingAt: count)
      var hasHead = false
      let error = try await #require(throws: CoherenceError.self, "byte \(count)") {
        let stream = try await client.stream(.get(server.url))
        hasHead = true
        for try await _ in stream.body {}
      }
      #expect(error.code == .httpTransferFailed)
      #expect(hasHead || count < head, "byte \(count)")
    }
  }

  @Test func `a retrying client gets past replies that end in their heads`() async throws {
    let count = Atomic(0)
    let server = try LoopbackServer { _, connection in
      let number = count.add(1, ordering: .relaxed).oldValue
      connection.send(number < 3 ? Form.length.bytes.prefix(20 + number) : Form.length.bytes)
    }
    let reply = try await client.retrying(clock: TestClock()).send(.get(server.url))
    #expect(reply.status == .ok)
    #expect(server.requests.count == 4)
  }

  @Test(arguments: [
    "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 99999 No\r\n\r\n",
    "HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
  ])
  func `a reply in another protocol than HTTP throws an error`(text: String) async throws {
    let server = try LoopbackServer { _, connection in connection.send(text) }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpTransferFailed)
  }

  @Test func `a reply with a status below 100 is reported as a reply that is not HTTP`() async throws {
    let server = try LoopbackServer { _, connection in
      connection.send("HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n")
    }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.message.contains("the reply is not HTTP"))
  }
}
