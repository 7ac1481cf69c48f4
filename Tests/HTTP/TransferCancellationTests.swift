import CoherenceCore
import CoherenceHTTP
import Dispatch
import Foundation
import HTTPTypes
import Synchronization
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A task of a session that ends only when a test allows it.
private final class HeldTask: Sendable {
  let hasBegun = Gate()
  let isEnding = Gate()
  private let mayEnd = DispatchSemaphore(value: 0)

  func release() { mayEnd.signal() }
  func waitForRelease() {
    isEnding.open()
    mayEnd.wait()
  }
}

/// A protocol that never replies. The end of its task waits for a test.
private final class HeldProtocol: URLProtocol {
  private static let tasks = Mutex<[String: HeldTask]>([:])

  /// Makes the task of the next request to a host.
  static func makeTask(for host: String) -> HeldTask {
    let task = HeldTask()
    tasks.withLock { $0[host] = task }
    return task
  }

  private var held: HeldTask? {
    guard let host = request.url?.host() else { return nil }
    return Self.tasks.withLock { $0[host] }
  }

  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
  override func startLoading() { held?.hasBegun.open() }
  override func stopLoading() { held?.waitForRelease() }
}

@Suite("The cancellation of transfers", .timeLimit(.minutes(15)))
struct TransferCancellationTests {
  private static let redirect = "HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 1000000\r\n\r\n"

  @Test(arguments: ClientKind.allCases)
  func `cancelling during the body of a redirect ends the request and closes the connection`(kind: ClientKind)
    async throws
  {
    let reply = try UnfinishedReply(Self.redirect + String(repeating: "x", count: 1000))
    try await reply.cancelRequest(of: kind.makeClient())
    #expect(reply.server.requests.count == 1)
  }

  @Test(arguments: ClientKind.allCases)
  func `the time limit ends a request during the body of a redirect and closes the connection`(kind: ClientKind)
    async throws
  {
    let (clock, isClosed) = (GatedClock(), Gate())
    let client = kind.makeClient().limited(to: .seconds(60), clock: clock)
    let server = try LoopbackServer { _, connection in
      connection.send(Self.redirect + String(repeating: "x", count: 1000))
      clock.ring()
      connection.waitUntilClientCloses()
      isClosed.open()
    }
    let error = try await #require(throws: CoherenceError.self) { try await client.send(.get(server.url)) }
    #expect(error.code == .httpTimedOut && error.isRetryable)
    await isClosed.wait()
  }

  @Test(arguments: [true, false])
  func `a cancelled request ends before the session ends its task, and so does a stream`(streams: Bool) async throws {
    let (client, host) = (makeHeldClient(), "cancelled-\(streams).example")
    let held = HeldProtocol.makeTask(for: host)
    let request = HTTPRequest.get("http://\(host)/")
    let task = Task {
      if streams { _ = try await client.stream(request) } else { _ = try await client.send(request) }
    }
    await held.hasBegun.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    held.release()
    try await expectNextTask(of: client, host)
  }

  @Test func `a request ends at its time limit before the session ends its task`() async throws {
    let (client, clock, host) = (makeHeldClient(), GatedClock(), "limited.example")
    let held = HeldProtocol.makeTask(for: host)
    let limited = client.limited(to: .seconds(60), clock: clock)
    let task = Task { try await limited.send(.get("http://\(host)/")) }
    await held.hasBegun.wait()
    clock.ring()
    let error = try await #require(throws: CoherenceError.self) { try await task.value }
    #expect(error.code == .httpTimedOut && error.isRetryable)
    held.release()
    try await expectNextTask(of: client, host)
  }

  /// On Linux the task that ends occupies a queue that all sessions of the process share.
  @Test func `requests that wait for the end of another session's task occupy no thread of the concurrency pool`()
    async throws
  {
    let (client, host) = (makeHeldClient(), "ending.example")
    let held = HeldProtocol.makeTask(for: host)
    let task = Task { try await client.send(.get("http://\(host)/")) }
    await held.hasBegun.wait()
    task.cancel()
    await held.isEnding.wait()
    let requests = (0...ProcessInfo.processInfo.activeProcessorCount).map { number in
      Task { try await expectNextTask(of: makeHeldClient(), "\(number).\(host)") }
    }
    // The pool runs tasks in their order: after these turns every request waits.
    for _ in 0..<100 { await Task.yield() }
    held.release()
    for request in requests { try await request.value }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private func makeHeldClient() -> URLSessionClient {
    let configuration = URLSessionConfiguration.patient
    configuration.protocolClasses = [HeldProtocol.self]
    configuration.httpMaximumConnectionsPerHost = 1
    return URLSessionClient(maximumBodySize: .max, configuration: configuration)
  }

  /// Sends and cancels one more request: on Linux the session begins its task after the late end of the previous task,
  /// which has no caller any more.
  private func expectNextTask(of client: URLSessionClient, _ host: String) async throws {
    let held = HeldProtocol.makeTask(for: "next.\(host)")
    held.release()
    let task = Task { try await client.send(.get("http://next.\(host)/")) }
    await held.hasBegun.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
