import CoherenceCore
import CoherenceHTTP
import Dispatch
import Foundation
import HTTPTypes
import Testing

@Suite("Bodies read while they come in", .timeLimit(.minutes(15)))
struct StreamTests {

  private func text(of body: HTTPBody) async throws -> String {
    var data = Data()
    for try await part in body { data.append(part) }
    return String(decoding: data, as: UTF8.self)
  }

  /// A server that sends the beginning of a body, and waits until the client closes the connection.
  private func makeHalfServer(_ isClosed: Gate) throws -> LoopbackServer {
    try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: 1_000_000) + "beginning")
      connection.waitUntilClientCloses()
      isClosed.open()
    }
  }

  @Test func `a body that has ended keeps nothing that its cancellation would need`() async throws {
    final class Transfer: Sendable {
      func cancel() {}
    }
    var transfer: Transfer? = Transfer()
    weak let reference = transfer
    let (body, writer) = HTTPBody.makeStream(onCancel: { [transfer] in transfer?.cancel() })
    transfer = nil
    #expect(reference != nil)
    writer.write(Data("unread".utf8))
    writer.finish()
    #expect(reference == nil)
    #expect(try await text(of: body) == "unread")
  }

  @Test(arguments: ClientKind.allCases)
  func `a part of a body can be read before the server sends the next part`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let isRead = DispatchSemaphore(value: 0)
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply(headerFields: ["ETag: \"one\""]).head(length: 10) + "first")
      isRead.wait()
      connection.send("later")
    }
    let stream = try await client.stream(.get(server.url)).successful()
    #expect(stream.response.headerFields[.eTag] == "\"one\"")
    var parts = stream.body.makeAsyncIterator()
    var text = ""
    while text.count < 5, let part = try await parts.next() { text += String(decoding: part, as: UTF8.self) }
    #expect(text == "first")
    isRead.signal()
    while let part = try await parts.next() { text += String(decoding: part, as: UTF8.self) }
    #expect(text == "firstlater")
  }

  @Test(arguments: ClientKind.allCases)
  func `an unread body of 64 MiB occupies 256 KiB of memory`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let (count, size) = (64, 1 << 20)
    let isSent = Gate()
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: count * size))
      for number in 0..<count { connection.send(Data(repeating: UInt8(number), count: size)) }
      isSent.open()
    }
    let stream = try await client.stream(.get(server.url))
    await isSent.wait()
    var received = 0
    for try await part in stream.body {
      #expect(part.count <= 1 << 18)
      #expect(part.first.map { Int($0) } == received / size)
      received += part.count
      #expect(part.last.map { Int($0) } == (received - 1) / size)
    }
    #expect(received == count * size)
    #expect(stream.body.peak > 0 && stream.body.peak <= 1 << 18)
  }

  @Test(arguments: ClientKind.allCases)
  func `an unread body delays no other request`(kind: ClientKind) async throws {
    let client = kind.makeClient(connections: 1)
    let body = String(repeating: "x", count: 5_000_000)
    let server = try LoopbackServer { request, connection in
      connection.send(ScriptedReply(body: request.target == "/large" ? body : "[1]"))
    }
    let stream = try await client.stream(.get(server.url.appending(path: "large")))
    #expect(try await client.send(.get(server.url), decoding: [Int].self) == [1])
    #expect(try await text(of: stream.body) == body)
  }

  @Test(arguments: ClientKind.allCases)
  func `a streaming request follows redirects, and credentials stay with their origin`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let target = try LoopbackServer(replies: [ScriptedReply(body: "[1]")])
    let source = try LoopbackServer(replies: [
      ScriptedReply(status: "307 Moved", headerFields: ["Location: \(target.url.absoluteString)/new"], body: "Moved")
    ])
    var request = HTTPRequest.get(source.url)
    request.headerFields[.authorization] = "Bearer sesame"
    let stream = try await client.stream(request)
    #expect(stream.request == request && stream.url == target.url.appending(path: "new"))
    #expect(try await text(of: stream.body) == "[1]")
    #expect(target.requests.map { $0.headerFields["authorization"] } == [nil])
  }

  @Test(arguments: ClientKind.allCases)
  func `a challenge without a credential is returned as the head of the reply`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let challenge = #"WWW-Authenticate: Basic realm="albums""#
    let server = try LoopbackServer(
      replies: [ScriptedReply(status: "401 Unauthorized", headerFields: [challenge], body: "Who are you?")])
    let stream = try await client.stream(.get(server.url))
    #expect(stream.status == .unauthorized)
    #expect(throws: CoherenceError.self) { try stream.successful() }
  }

  @Test(arguments: ClientKind.allCases)
  func `a truncated body is an error and is not requested again`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: 100) + "half")
    }
    let clock = TestClock()
    let error = try await #require(throws: CoherenceError.self) {
      let stream = try await client.retrying(clock: clock).stream(.get(server.url))
      _ = try await text(of: stream.body)
    }
    #expect(error.code == .httpTransferFailed && error.isRetryable)
    #expect(server.requests.count == 1 && clock.waits.isEmpty)
  }

  @Test(arguments: ClientKind.allCases)
  func `a streaming request is sent again after a retryable status in the head of its reply`(kind: ClientKind)
    async throws
  {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [
      ScriptedReply(status: "503 Busy", body: "no"), ScriptedReply(body: "[1]"),
    ])
    let stream = try await client.retrying(clock: TestClock()).stream(.get(server.url))
    #expect(try await text(of: stream.body) == "[1]")
    #expect(server.requests.count == 2)
  }

  @Test(arguments: ClientKind.allCases)
  func `a stalled body is an error after the time limit of the request`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let isClosed = Gate()
    let server = try makeHalfServer(isClosed)
    let clock = SteppedClock()
    let stream = try await client.limited(to: .seconds(1), clock: clock).stream(.get(server.url))
    while clock.waitCount < 1 { await Task.yield() }
    clock.tick()
    await isClosed.wait()
    let error = try await #require(throws: CoherenceError.self) { try await text(of: stream.body) }
    #expect(error.code == .httpTimedOut)
  }

  @Test(arguments: ClientKind.allCases)
  func `a streamed body beyond the size limit is an error`(kind: ClientKind) async throws {
    let client = kind.makeClient(maximumBodySize: 10_000)
    let server = try LoopbackServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + String(repeating: "x", count: 10_001))
    }
    let error = try await #require(throws: CoherenceError.self) {
      try await text(of: client.stream(.get(server.url)).body)
    }
    #expect(error.code == .httpBodyTooLarge)
  }

  @Test(arguments: ClientKind.allCases)
  func `the release of an unread body closes its connection`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let isClosed = Gate()
    let server = try makeHalfServer(isClosed)
    var stream: HTTPStream? = try await client.stream(.get(server.url))
    #expect(stream?.status == .ok)
    stream = nil
    await isClosed.wait()
  }

  @Test(arguments: ClientKind.allCases)
  func `cancelling the reader of a body closes the connection`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let isClosed = Gate()
    let isBegun = Gate()
    let server = try makeHalfServer(isClosed)
    let stream = try await client.stream(.get(server.url))
    let reader = Task {
      for try await _ in stream.body { isBegun.open() }
    }
    await isBegun.wait()
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    await isClosed.wait()
  }

  @Test(arguments: ClientKind.allCases)
  func `a recorded stream has its whole body in the recording, and no secrets`(kind: ClientKind) async throws {
    let client = kind.makeClient()
    let server = try LoopbackServer(replies: [ScriptedReply(body: #"{"name":"Blue","token":"sesame"}"#)])
    let recorder = HTTPRecorder(client)
    let stream = try await recorder.stream(.get(server.url))
    #expect(try await text(of: stream.body).contains("sesame"))
    guard case .text(let recorded) = recorder.exchanges.first?.body else {
      Issue.record("The body is not recorded as a text.")
      return
    }
    #expect(recorded.hasPrefix(#"{"name":"Blue","token":"hidden-"#) && !recorded.contains("sesame"))
    let replayed = try await HTTPReplay(recorder.exchanges).stream(.get(server.url))
    #expect(try await text(of: replayed.body).contains("Blue"))
  }

  @Test func `lines are returned one by one, independent of the parts of the body`() async throws {
    let (body, writer) = HTTPBody.makeStream()
    for part in ["{\"id\"", ":1}\r\n{\"id\":2}\n\n", "{\"i", "d\":", "3}"] { writer.write(Data(part.utf8)) }
    writer.finish()
    var lines: [String] = []
    for try await line in body.lines() { lines.append(String(decoding: line, as: UTF8.self)) }
    #expect(lines == [#"{"id":1}"#, #"{"id":2}"#, #"{"id":3}"#])
  }

  @Test func `a line of exactly the limit is returned, also in several parts`() async throws {
    let (body, writer) = HTTPBody.makeStream()
    for part in ["123", "45\n12", "345", "\n\r\n1\r2"] { writer.write(Data(part.utf8)) }
    writer.finish()
    var lines: [String] = []
    for try await line in body.lines(limit: 5) { lines.append(String(decoding: line, as: UTF8.self)) }
    #expect(lines == ["12345", "12345", "1\r2"])
  }

  @Test func `a line beyond the limit is an error`() async throws {
    let error = try await #require(throws: CoherenceError.self) {
      for try await _ in HTTPBody(Data("short\nmuch longer".utf8)).lines(limit: 6) {}
    }
    #expect(error.code == .httpBodyTooLarge)
  }
}
