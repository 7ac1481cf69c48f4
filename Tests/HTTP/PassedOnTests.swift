import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// The arguments and replies that wrappers and shorter functions pass on.
@Suite("What clients pass on")
struct PassedOnTests {
  /// A wrapper of a client.
  enum Wrapper: CaseIterable, Sendable {
    case limited, retrying, redirecting, recording

    func wrapping(_ base: StubClient) -> any HTTPClient {
      switch self {
      case .limited: base.limited(to: .seconds(60), clock: GatedClock())
      case .retrying: base.retrying(clock: TestClock())
      case .redirecting: base.redirecting()
      case .recording: HTTPRecorder(base)
      }
    }
  }

  private struct Dated: Decodable {
    let date: Date
  }

  private static let text = Data("text".utf8)
  private let request = HTTPRequest(method: .put, scheme: "https", authority: "example.org", path: "/a")

  @Test(arguments: Wrapper.allCases)
  func `a wrapper of a client passes on the body of a request`(wrapper: Wrapper) async throws {
    let base = StubClient { _, request in .make(to: request) }
    let client = wrapper.wrapping(base)
    _ = try await client.send(request, body: Self.text)
    _ = try await client.stream(request, body: Self.text)
    #expect(base.bodies == [Self.text, Self.text])
  }

  @Test func `a download passes on the body of its request`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let base = StubClient { _, request in .make(to: request, 200, [:], "reply") }
    let reply = try await base.download(request, body: Self.text, to: file)
    #expect(base.bodies == [Self.text])
    #expect(reply.request == request)
    #expect(try Data(contentsOf: file) == Data("reply".utf8))
  }

  @Test func `a reply is decoded by the decoder of the call`() async throws {
    let base = StubClient { _, request in .make(to: request, 200, [:], "{\"date\":60}") }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let dated = try await base.send(request, decoding: Dated.self, by: decoder)
    #expect(dated.date == Date(timeIntervalSince1970: 60))
  }

  @Test func `the retries of a client have the given policy and logger`() async throws {
    let base = StubClient { _, request in .make(to: request, 503) }
    let (clock, log) = (TestClock(), MessageLog())
    let client = base.retrying(HTTPRetryPolicy(attempts: 2), clock: clock, logger: log.logger)
    #expect(try await client.send(request).status.code == 503)
    #expect(base.requests.count == 2 && clock.waits.count == 1)
    #expect(log.messages.count == 1)
  }

  @Test func `a collected stream has the status, the body and the address of the stream`() async throws {
    let url = try #require(URL(string: "https://elsewhere.example/b"))
    let stream = HTTPStream(
      to: request, response: HTTPResponse(status: .accepted), body: HTTPBody(Self.text), url: url)
    let reply = try await stream.collected()
    #expect(reply.url == url && reply.request == request)
    #expect(reply.status == .accepted && reply.body == Self.text)
  }

  @Test func `a task cancelled before its request sends nothing through a retrying client`() async throws {
    let base = StubClient { _, request in .make(to: request) }
    let task = Task { [request] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await base.retrying(clock: TestClock()).send(request)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(base.requests.isEmpty)
  }

  /// A client whose replies are streams.
  private struct StreamClient: HTTPClient {
    let handler: @Sendable (HTTPRequest) -> HTTPStream

    func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
      try await handler(request).collected()
    }

    func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream { handler(request) }
  }

  /// A clock whose waits note whether a transfer was cancelled before.
  private final class NotingClock: HTTPClock {
    let now = Date()
    private let state = Mutex<(isCanceled: Bool, waits: [Bool])>((false, []))

    var waits: [Bool] { state.withLock { $0.waits } }
    func noteCancellation() { state.withLock { $0.isCanceled = true } }

    func wait(for duration: Duration) async throws {
      state.withLock { state in
        let isCanceled = state.isCanceled
        state.waits.append(isCanceled)
      }
    }
  }

  @Test func `the transfer of a failed reply is cancelled before the pause and the next request`() async throws {
    let clock = NotingClock()
    let client = StreamClient { request in
      let body = HTTPBody.makeStream(onCancel: { clock.noteCancellation() }).body
      return HTTPStream(to: request, response: HTTPResponse(status: .serviceUnavailable), body: body)
    }
    let stream = try await client.retrying(HTTPRetryPolicy(attempts: 2), clock: clock).stream(request)
    #expect(stream.status == .serviceUnavailable)
    #expect(clock.waits == [true])
  }
}
