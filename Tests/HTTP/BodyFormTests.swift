import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

/// Bodies in the forms in which servers send them, read by each client.
@Suite("The forms of bodies")
struct BodyFormTests {
  private static let close = "Connection: close\r\n"

  /// A server that replies with a head of the given fields, and a body.
  private func makeServer(_ fields: String, _ body: Data, status: String = "200 OK") throws -> LoopbackServer {
    try LoopbackServer { _, connection in
      connection.send(Data("HTTP/1.1 \(status)\r\n\(Self.close)\(fields)\r\n".utf8) + body)
    }
  }

  @Test(arguments: ClientKind.allCases, [("gzip", CompressedText.gzip), ("deflate", CompressedText.deflate)])
  func `a compressed body is decompressed`(kind: ClientKind, form: (name: String, body: Data)) async throws {
    let fields = "Content-Encoding: \(form.name)\r\nContent-Length: \(form.body.count)\r\n"
    let server = try makeServer(fields, form.body)
    let client = kind.makeClient()
    let reply = try await client.send(.get(server.url))
    #expect(String(decoding: reply.body, as: UTF8.self) == "some text")
    #expect(reply.response.headerFields[.contentEncoding] == form.name)
    let stream = try await client.stream(.get(server.url))
    #expect(try await stream.collected().body == Data("some text".utf8))
    #expect(server.requests.first?.headerFields["accept-encoding"]?.contains(form.name) == true)
  }

  @Test(arguments: ClientKind.allCases, ["200 OK", "201 Created", "302 Found", "503 Busy"])
  func `an empty body whose head announces a compression is complete`(kind: ClientKind, status: String) async throws {
    let server = try makeServer("Content-Encoding: gzip\r\nContent-Length: 0\r\n", Data(), status: status)
    let client = kind.makeClient()
    let reply = try await client.send(.get(server.url))
    #expect(status.hasPrefix("\(reply.status.code)") && reply.body.isEmpty)
    #expect(try await client.stream(.get(server.url)).collected().body.isEmpty)
  }

  @Test(arguments: ClientKind.allCases)
  func `informational responses are no replies`(kind: ClientKind) async throws {
    let server = try LoopbackServer { _, connection in
      connection.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")
      connection.send(ScriptedReply(body: "some text"))
    }
    let client = kind.makeClient()
    let reply = try await client.send(.get(server.url))
    #expect(reply.status == .ok && reply.body == Data("some text".utf8))
    let stream = try await client.stream(.get(server.url))
    #expect(stream.status == .ok)
    #expect(try await stream.collected().body == Data("some text".utf8))
  }

  @Test(arguments: ClientKind.allCases)
  func `the size limit applies to the decompressed body`(kind: ClientKind) async throws {
    let body = CompressedText.zeros
    let server = try makeServer("Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n", body)
    let client = kind.makeClient(maximumBodySize: 10_000)
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpBodyTooLarge)
    #expect(try await kind.makeClient(maximumBodySize: 1 << 20).send(.get(server.url)).body.count == 1 << 20)
  }

  @Test(arguments: ClientKind.allCases, [("gzip", CompressedText.gzip), ("deflate", CompressedText.deflate)])
  func `a compressed body longer than the size limit is accepted if its decompressed body is within the limit`(
    kind: ClientKind, form: (name: String, body: Data)
  ) async throws {
    let text = Data("some text".utf8)
    let server = try makeServer(
      "Content-Encoding: \(form.name)\r\nContent-Length: \(form.body.count)\r\n", form.body)
    let client = kind.makeClient(maximumBodySize: text.count)
    #expect(form.body.count > text.count)
    #expect(try await client.send(.get(server.url)).body == text)
    #expect(try await client.stream(.get(server.url)).collected().body == text)
    let stricter = kind.makeClient(maximumBodySize: text.count - 1)
    let error = try await #require(throws: CoherenceError.self) {
      try await stricter.stream(.get(server.url)).collected()
    }
    #expect(error.code == .httpBodyTooLarge)
  }

  @Test(arguments: ClientKind.allCases)
  func `a chunked body arrives as a whole`(kind: ClientKind) async throws {
    let server = try makeServer(
      "Transfer-Encoding: chunked\r\n", Data("4\r\nsome\r\n5;x=1\r\n text\r\n0\r\n\r\n".utf8))
    let reply = try await kind.makeClient().send(.get(server.url))
    #expect(String(decoding: reply.body, as: UTF8.self) == "some text")
  }

  // Foundation on Linux ends the program at the header field after the body.
  @Test func `header fields after a chunked body are no part of the reply`() async throws {
    let server = try makeServer(
      "Transfer-Encoding: chunked\r\nTrailer: X-End\r\n", Data("4\r\nsome\r\n0\r\nX-End: 1\r\n\r\n".utf8))
    let reply = try await ClientKind.nio.makeClient().send(.get(server.url))
    #expect(String(decoding: reply.body, as: UTF8.self) == "some")
    #expect(!reply.response.headerFields.contains { $0.name.canonicalName == "x-end" })
  }

  @Test(arguments: ClientKind.allCases, ["", "Content-Encoding: gzip\r\n"])
  func `the reply to a HEAD request has no body, even if its header fields announce a body`(
    kind: ClientKind, encoding: String
  ) async throws {
    let server = try makeServer("Content-Length: 5000000\r\n\(encoding)", Data())
    let client = kind.makeClient(maximumBodySize: 1000)
    let request = HTTPRequest(method: .head, url: server.url)
    let reply = try await client.send(request)
    #expect(reply.status == .ok && reply.body.isEmpty)
    #expect(reply.response.headerFields[.contentLength] == "5000000")
    #expect(try await client.stream(request).collected().body.isEmpty)
  }

  @Test(arguments: ClientKind.allCases, ["204 No Content", "304 Not Modified"])
  func `a reply whose status excludes a body has none`(kind: ClientKind, status: String) async throws {
    let fields = status.hasPrefix("304") ? "ETag: \"one\"\r\nContent-Encoding: gzip\r\nContent-Length: 5000000\r\n" : ""
    let server = try makeServer(fields, Data(), status: status)
    let client = kind.makeClient(maximumBodySize: 1000)
    let reply = try await client.send(.get(server.url))
    #expect(status.hasPrefix("\(reply.status.code)") && reply.body.isEmpty)
    #expect(try await client.stream(.get(server.url)).collected().body.isEmpty)
  }

  @Test(arguments: ClientKind.allCases)
  func `a reply without content is complete, even if its header fields announce a length`(kind: ClientKind) async throws
  {
    let server = try makeServer("Content-Length: 5000000\r\n", Data(), status: "204 No Content")
    for client in [kind.makeClient(maximumBodySize: 1000), kind.makeClient()] {
      let reply = try await client.send(.get(server.url))
      #expect(reply.status == .noContent && reply.body.isEmpty)
    }
  }

  @Test(arguments: ClientKind.allCases)
  func `repeated header fields of a reply are all kept`(kind: ClientKind) async throws {
    let name = try #require(HTTPField.Name("X-Part"))
    let server = try makeServer("X-Part: one\r\nx-part: two\r\nContent-Length: 0\r\n", Data())
    let reply = try await kind.makeClient().send(.get(server.url))
    // Foundation on Linux returns them in the opposite order.
    let expected = ["one, two", "two, one"]
    #expect(reply.response.headerFields[name].map { expected.contains($0) } == true)
  }

  @Test(arguments: ClientKind.allCases, [0, 1, 5_000_000])
  func `the server receives the whole body of a request and its length`(kind: ClientKind, size: Int) async throws {
    let server = try LoopbackServer { request, connection in
      connection.send(ScriptedReply(body: "\(request.body.count)"))
    }
    var request = HTTPRequest(method: .post, url: server.url.appending(path: "a b"))
    request.headerFields[.contentType] = "text/plain"
    let body = Data(repeating: 7, count: size)
    let reply = try await kind.makeClient().send(request, body: body)
    #expect(String(decoding: reply.body, as: UTF8.self) == "\(size)")
    let received = try #require(server.requests.first)
    #expect(received.target == "/a%20b" && received.body == body)
    #expect(received.headerFields["content-length"] == "\(size)")
    for name in ["host", "accept", "user-agent"] { #expect(received.headerFields[name]?.isEmpty == false, "\(name)") }
  }

  @Test(arguments: ClientKind.allCases)
  func `the name and password of an address are sent only after a challenge, if at all`(kind: ClientKind) async throws {
    let server = try LoopbackServer(replies: [ScriptedReply()])
    let address = server.url.absoluteString.replacing("http://", with: "http://ada:sesame@")
    _ = try await kind.makeClient().send(.get(address))
    #expect(server.requests.first?.headerFields["authorization"] == nil)
  }

  @Test(arguments: ClientKind.allCases)
  func `an address with another scheme throws a non-retryable error`(kind: ClientKind) async throws {
    for address in ["gopher://127.0.0.1/", "http:///albums"] {
      let error = try await #require(throws: CoherenceError.self) {
        try await kind.makeClient().send(.get(address))
      }
      #expect(error.code == .httpTransferFailed && !error.isRetryable, "\(error)")
    }
  }
}
