import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("Server-sent events", .timeLimit(.minutes(15)))
struct ServerEventTests {
  private let url = URL(string: "https://music.example/events")!
  private static let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"])

  /// Settings without random delays and without a deadline.
  private func options(_ clock: any HTTPClock, _ change: (inout ServerEventOptions) -> Void = { _ in })
    -> ServerEventOptions
  {
    var options = ServerEventOptions()
    options.clock = clock
    options.random = { 0 }
    options.deadline = nil
    change(&options)
    return options
  }

  private func events(_ text: String, to request: HTTPRequest) -> HTTPReply {
    .make(to: request, 200, ["Content-Type": "text/event-stream; charset=utf-8"], text)
  }

  private func collect(_ events: ServerEvents) async throws -> [String] {
    var data: [String] = []
    for try await event in events { data.append(event.data) }
    return data
  }

  @Test func `a stream connects again with the last identifier after the server's time, and ends after a 204`()
    async throws
  {
    let clock = TestClock()
    let client = StubClient { number, request in
      switch number {
      case 0: events("retry: 250\nid: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: lost", to: request)
      case 1: events(": nothing yet\n\n", to: request)
      case 2: events("data: c\n\n", to: request)
      default: .make(to: request, 204)
      }
    }
    #expect(try await collect(client.events(.get(url), options: options(clock))) == ["a", "b", "c"])
    let name = try #require(HTTPField.Name("Last-Event-ID"))
    #expect(client.requests.map { $0.headerFields[name] } == [nil, "2", "2", "2"])
    #expect(client.requests.allSatisfy { $0.headerFields[.accept] == "text/event-stream" })
    // The connection without an event counts as a failure.
    #expect(clock.waits == [.milliseconds(250), .milliseconds(250), .milliseconds(250)])
  }

  @Test func `a stored identifier is sent with the first request`() async throws {
    let client = StubClient { _, request in .make(to: request, 204) }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.lastEventID = "41" })
    #expect(try await collect(stream) == [])
    let name = try #require(HTTPField.Name("Last-Event-ID"))
    #expect(client.requests[0].headerFields[name] == "41")
  }

  @Test func `transient failures are repeated after delays that double, up to the longest`() async throws {
    let clock = TestClock()
    let client = StubClient { number, request in
      switch number {
      case 0..<6: .make(to: request, 503)
      case 6: events("data: a\n\n", to: request)
      default: .make(to: request, 204)
      }
    }
    let stream = client.events(.get(url), options: options(clock) { $0.longestDelay = .seconds(20) })
    #expect(try await collect(stream) == ["a"])
    #expect(clock.waits == [3, 6, 12, 20, 20, 20, 3].map { Duration.seconds($0) })
  }

  @Test func `the jitter leaves out up to half of a delay, except of the first reconnection`() async throws {
    let clock = TestClock()
    let client = StubClient { number, request in .make(to: request, number < 3 ? 503 : 204) }
    let stream = client.events(.get(url), options: options(clock) { $0.random = { 0.5 } })
    #expect(try await collect(stream) == [])
    #expect(clock.waits == [3000, 4500, 9000].map { Duration.milliseconds($0) })
  }

  @Test func `the reconnection time is a setting until the server asks for another one`() async throws {
    let clock = TestClock()
    let client = StubClient { number, request in
      switch number {
      case 0, 1: .make(to: request, 503)
      case 2: events("retry: 250\ndata: a\n\n", to: request)
      default: .make(to: request, 204)
      }
    }
    let stream = client.events(.get(url), options: options(clock) { $0.reconnectionTime = .seconds(1) })
    #expect(try await collect(stream) == ["a"])
    #expect(clock.waits == [1000, 2000, 250].map { Duration.milliseconds($0) })
  }

  @Test func `the longest delay does not shorten the time that the server asks for`() async throws {
    let clock = TestClock()
    let client = StubClient { number, request in
      switch number {
      case 0: events("retry: 90000\ndata: a\n\n", to: request)
      case 1, 2: .make(to: request, 503)
      default: .make(to: request, 204)
      }
    }
    let stream = client.events(.get(url), options: options(clock) { $0.longestDelay = .seconds(60) })
    #expect(try await collect(stream) == ["a"])
    #expect(clock.waits == [90, 90, 90].map { Duration.seconds($0) })
  }

  @Test func `a stream connects again no earlier than a Retry-After asks for, and then after its own delays`()
    async throws
  {
    let clock = TestClock()
    let client = StubClient { number, request in
      switch number {
      case 0: .make(to: request, 429, ["Retry-After": "300"])
      case 1: .make(to: request, 503, ["Retry-After": "1"])
      case 2: .make(to: request, 503)
      default: .make(to: request, 204)
      }
    }
    #expect(try await collect(client.events(.get(url), options: options(clock))) == [])
    #expect(clock.waits == [300, 6, 12].map { Duration.seconds($0) })
  }

  @Test func `a server that asks for no delay is not asked without a pause`() async throws {
    let clock = TestClock()
    let client = StubClient { number, request in
      switch number {
      case 0: events("retry: 0\ndata: a\n\n", to: request)
      case 1..<4: .make(to: request, 503)
      default: .make(to: request, 204)
      }
    }
    #expect(try await collect(client.events(.get(url), options: options(clock))) == ["a"])
    #expect(clock.waits == [100, 100, 200, 400].map { Duration.milliseconds($0) })
  }

  @Test func `the stream ends with the last error after the maximum number of failures`() async throws {
    let client = StubClient { _, request in .make(to: request, 503) }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.maximumFailures = 3 })
    await #expect { try await collect(stream) } throws: { ErrorCode.httpStatus ~= $0 }
    #expect(client.requests.count == 3)
  }

  @Test(arguments: [401, 404, 301])
  func `a status of a permanent failure ends the stream`(status: Int) async throws {
    let client = StubClient { _, request in .make(to: request, status) }
    await #expect { try await collect(client.events(.get(url), options: options(TestClock()))) } throws: {
      ErrorCode.httpStatus ~= $0
    }
    #expect(client.requests.count == 1)
  }

  @Test func `a reply of another content type is refused`() async throws {
    let client = StubClient { _, request in
      .make(to: request, 200, ["Content-Type": "text/html"], "data: a\n\n")
    }
    await #expect { try await collect(client.events(.get(url), options: options(TestClock()))) } throws: {
      ErrorCode.httpUnreadable ~= $0
    }
  }

  @Test func `an event above the limit ends the stream`() async throws {
    let client = StubClient { _, request in events("data: " + String(repeating: "x", count: 100), to: request) }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.limit = 50 })
    await #expect { try await collect(stream) } throws: { ErrorCode.httpBodyTooLarge ~= $0 }
  }

  @Test func `an event above the limit ends the stream after the events before it, and closes the connection`()
    async throws
  {
    let isCanceled = Gate()
    let client = StreamStub { _, request in
      let (body, writer) = HTTPBody.makeStream(onCancel: { isCanceled.open() })
      writer.write(Data("id: 1\ndata: a\n\nid: 2\ndata: b\n\ndata: \(String(repeating: "x", count: 100))".utf8))
      return HTTPStream(to: request, response: Self.head, body: body)
    }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.limit = 50 })
    var iterator = stream.makeAsyncIterator()
    #expect(try await iterator.next() == ServerEvent(data: "a", id: "1"))
    #expect(try await iterator.next() == ServerEvent(data: "b", id: "2"))
    let error = await #expect(throws: CoherenceError.self) { try await iterator.next() }
    #expect(error?.code == .httpBodyTooLarge)
    // The iterator still exists.
    await isCanceled.wait()
    #expect(try await iterator.next() == nil)
  }

  @Test func `an event can be read before the connection ends, and a silent connection is replaced at the deadline`()
    async throws
  {
    let clock = GatedClock()
    let silent = HTTPBody.makeStream()
    let client = StreamStub { number, request in
      guard number == 0 else {
        return HTTPStream(to: request, response: HTTPResponse(status: .noContent), body: HTTPBody())
      }
      silent.writer.write(Data("id: 1\ndata: a\n\n".utf8))
      return HTTPStream(to: request, response: Self.head, body: silent.body)
    }
    let stream = client.events(.get(url), options: options(clock) { $0.deadline = .seconds(60) })
    var iterator = stream.makeAsyncIterator()
    #expect(try await iterator.next() == ServerEvent(data: "a", id: "1"))
    // All waits end now: the deadline passes, and the next connection ends the stream.
    clock.ring()
    #expect(try await iterator.next() == nil)
    #expect(client.count == 2)
  }

  @Test func `cancelling the reader ends the stream and its connection`() async throws {
    let isCanceled = Gate()
    let body = HTTPBody.makeStream(onCancel: { isCanceled.open() })
    let client = StreamStub { _, request in
      HTTPStream(to: request, response: Self.head, body: body.body)
    }
    let stream = client.events(.get(url), options: options(TestClock()))
    let task = Task { try await collect(stream) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await isCanceled.wait()
  }

  @Test(arguments: [(2, 2), (1, 1), (0, 1), (-1, 1)])
  func `connections that end without an event are failures, and the last of them is a broken transfer`(
    maximum: Int, count: Int
  ) async throws {
    let client = StubClient { _, request in events(": nothing\n\n", to: request) }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.maximumFailures = maximum })
    var iterator = stream.makeAsyncIterator()
    let error = await #expect(throws: CoherenceError.self) { try await iterator.next() }
    #expect(error?.code == .httpTransferFailed && error?.isRetryable == true)
    // The sequence has ended.
    #expect(try await iterator.next() == nil)
    #expect(client.requests.count == count)
  }

  @Test func `connections with events are no failures, however many there are`() async throws {
    let client = StubClient { number, request in
      number < 5 ? events("data: \(number)\n\n", to: request) : .make(to: request, 204)
    }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.maximumFailures = 1 })
    #expect(try await collect(stream) == ["0", "1", "2", "3", "4"])
  }

  @Test func `an event starts the count of failures again`() async throws {
    let client = StubClient { number, request in
      number == 1 ? events("data: a\n\n", to: request) : .make(to: request, number == 5 ? 204 : 503)
    }
    let stream = client.events(.get(url), options: options(TestClock()) { $0.maximumFailures = 4 })
    #expect(try await collect(stream) == ["a"])
    #expect(client.requests.count == 6)
  }

  @Test func `the delay between connections is a minute at most by default`() async throws {
    let clock = TestClock()
    let client = StubClient { number, request in .make(to: request, number < 7 ? 503 : 204) }
    #expect(try await collect(client.events(.get(url), options: options(clock))) == [])
    #expect(clock.waits == [3, 6, 12, 24, 48, 60, 60].map { Duration.seconds($0) })
  }

  @Test(arguments: ["Text/Event-Stream", "text/event-stream ; charset=utf-8"])
  func `a content type is compared without regard to case, spaces and parameters`(type: String) async throws {
    let client = StubClient { number, request in
      number == 0 ? .make(to: request, 200, ["Content-Type": type], "data: a\n\n") : .make(to: request, 204)
    }
    #expect(try await collect(client.events(.get(url), options: options(TestClock()))) == ["a"])
    #expect(client.requests.map { $0.headerFields[.cacheControl] } == ["no-store", "no-store"])
  }

  @Test func `the loop of the article prints the songs of a stream`() async throws {
    let http: any HTTPClient = StubClient { number, request in
      number == 0 ? events("event: song\ndata: So What\n\ndata: tick\n\n", to: request) : .make(to: request, 204)
    }
    let url = url
    var titles: [String] = []
    var options = ServerEventOptions()
    options.clock = TestClock()
    options.deadline = nil
    let request = HTTPRequest(method: .get, url: url)
    for try await event in http.events(request, options: options) where event.type == "song" {
      titles.append(event.data)
    }
    #expect(titles == ["So What"])
  }
}

/// A client whose replies are streams.
private final class StreamStub: HTTPClient {
  private let handler: @Sendable (Int, HTTPRequest) -> HTTPStream
  private let number = Mutex(0)

  init(_ handler: @escaping @Sendable (Int, HTTPRequest) -> HTTPStream) { self.handler = handler }

  var count: Int { number.withLock { $0 } }

  func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await stream(request, body: body).collected()
  }

  func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    let present = number.withLock { number in
      defer { number += 1 }
      return number
    }
    return handler(present, request)
  }
}
