import AsyncHTTPClient
import CoherenceAsyncHTTP
import CoherenceCore
import CoherenceHTTP
import Dispatch
import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import Testing

/// The connections of a client on SwiftNIO: how many, how long, and what ends them.
@Suite("Connections of the client on SwiftNIO", .timeLimit(.minutes(15)))
struct ConnectionTests {
  /// A server that replies to each request of a connection until the client closes it.
  private func makePersistentServer(_ connections: Counter) throws -> LoopbackServer {
    try LoopbackServer(raw: { connection in
      connections.increase()
      while let request = connection.receive() {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (request.method == "HEAD" ? "" : "ok"))
      }
    })
  }

  /// A number that several threads count.
  private final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func increase() { value.withLock { $0 += 1 } }
  }

  @Test func `requests one after another share connections`() async throws {
    let connections = Counter()
    let server = try makePersistentServer(connections)
    let client = NIOClient.patient()
    for _ in 1...20 { #expect(try await client.send(.get(server.url)).body == Data("ok".utf8)) }
    for _ in 1...20 { #expect(try await client.send(HTTPRequest(method: .head, url: server.url)).body.isEmpty) }
    // A request before the return of the last connection to the pool gets a new connection.
    #expect(connections.count < 10)
    await client.shutdown()
  }

  @Test func `256 simultaneous requests all succeed, six at a time`() async throws {
    let running = Mutex((now: 0, most: 0))
    let server = try LoopbackServer { request, connection in
      running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      let reply = ScriptedReply(body: request.target)
      running.withLock { $0.now -= 1 }
      connection.send(reply)
    }
    let client = NIOClient.patient()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<256 {
        group.addTask {
          let reply = try await client.send(.get(server.url.appending(path: "\(number)")))
          #expect(String(decoding: reply.body, as: UTF8.self) == "/\(number)")
        }
      }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 256)
    #expect(running.withLock { $0.most } <= 6)
  }

  @Test func `a connection that the server closes while it is unused is replaced`() async throws {
    let closed = DispatchSemaphore(value: 0)
    let server = try LoopbackServer(raw: { connection in
      if connection.receive() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
      closed.signal()
    })
    let client = NIOClient.patient().retrying(clock: TestClock())
    for _ in 1...50 { #expect(try await client.send(.get(server.url)).body == Data("ok".utf8)) }
  }

  @Test func `a request on a connection that ends is sent once`() async throws {
    let requests = Counter()
    let server = try LoopbackServer(raw: { connection in
      guard connection.receive() != nil else { return }
      requests.increase()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      if connection.receive() != nil { requests.increase() }
    })
    let client = NIOClient.patient()
    #expect(try await client.send(.get(server.url)).status == .ok)
    let request = HTTPRequest(method: .post, url: server.url)
    do {
      // The client has noticed the end of the first connection.
      #expect(try await client.send(request, body: Data([1])).status == .ok)
    } catch let error as CoherenceError {
      #expect(error.code == .httpTransferFailed && error.isRetryable)
    }
    #expect(requests.count == 2)
  }

  @Test func `cancelling a request without a reply closes the connection`() async throws {
    let (isReceived, isClosed) = (Gate(), Gate())
    let server = try LoopbackServer { request, connection in
      // Half of a head.
      if request.target == "/half" { connection.send("HTTP/1.1 200 OK\r\nContent-Le") }
      isReceived.open()
      connection.waitUntilClientCloses()
      isClosed.open()
    }
    let client = NIOClient.patient()
    let task = Task { try await client.send(.get(server.url.appending(path: "half"))) }
    await isReceived.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await isClosed.wait()
  }

  @Test func `requests cancelled at any time end, and release their slots`() async throws {
    let server = try LoopbackServer(replies: [ScriptedReply(body: String(repeating: "x", count: 100_000))])
    let client = NIOClient.patient(connections: 2)
    for number in 0..<200 {
      let task = Task { try await client.send(.get(server.url)) }
      for _ in 0..<number { await Task.yield() }
      task.cancel()
      do { _ = try await task.value } catch is CancellationError {}
    }
    #expect(try await client.send(.get(server.url)).status == .ok)
    #expect(client.waitingCount == 0)
  }

  @Test func `a server that stalls in a head or a body exceeds the client's own time limit`() async throws {
    let server = try LoopbackServer { request, connection in
      connection.send(request.target == "/head" ? "HTTP/1.1 200 OK\r\nContent" : ScriptedReply().head(length: 10) + "x")
      connection.waitUntilClientCloses()
    }
    var configuration = NIOClient.defaultConfiguration
    configuration.timeout.read = .milliseconds(50)
    let client = NIOClient(configuration: configuration)
    for path in ["head", "body"] {
      let error = try await #require(throws: CoherenceError.self) {
        try await client.send(.get(server.url.appending(path: path)))
      }
      #expect(error.code == .httpTimedOut && error.isRetryable)
    }
  }

  @Test func `a circle of redirects is an error`() async throws {
    let server = try LoopbackServer(replies: [ScriptedReply(status: "302 Found", headerFields: ["Location: /again"])])
    let error = try await #require(throws: CoherenceError.self) {
      try await NIOClient.patient().send(.get(server.url))
    }
    #expect(error.code == .httpTooManyRedirects)
    #expect(server.requests.count == 21)
  }

  @Test func `a body can be read after the release of its client`() async throws {
    let isRead = DispatchSemaphore(value: 0)
    let server = try LoopbackServer { _, connection in
      connection.send(ScriptedReply().head(length: 10) + "first")
      isRead.wait()
      connection.send("later")
    }
    let stream = try await NIOClient.patient().stream(.get(server.url))
    isRead.signal()
    #expect(try await stream.collected().body == Data("firstlater".utf8))
  }

  @Test func `the release of a client closes its connections`() async throws {
    let isClosed = Gate()
    let server = try LoopbackServer(raw: { connection in
      while connection.receive() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
      isClosed.open()
    })
    var client: NIOClient? = NIOClient.patient()
    #expect(try await client?.send(.get(server.url)).status == .ok)
    client = nil
    await isClosed.wait()
  }

  @Test func `a shutdown ends requests in the head, in the body and in the queue with retryable errors`() async throws {
    let arrivals = AsyncStream.makeStream(of: Void.self)
    let server = try LoopbackServer { request, connection in
      if request.target == "/body" { connection.send(ScriptedReply().head(length: 10) + "x") }
      arrivals.continuation.yield()
      connection.waitUntilClientCloses()
    }
    let client = NIOClient.patient(connections: 2)
    let tasks = ["head", "body", "queue"].map { path in
      Task { try await client.send(.get(server.url.appending(path: path))) }
    }
    var arrived = arrivals.stream.makeAsyncIterator()
    for _ in 1...2 { await arrived.next() }
    while client.waitingCount != 1 { await Task.yield() }
    await client.shutdown()
    for task in tasks {
      let error = try await #require(throws: CoherenceError.self) { try await task.value }
      #expect(error.code == .httpTransferFailed && error.isRetryable)
    }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpTransferFailed && error.message.contains("shut down"))
    await client.shutdown()
  }
}
