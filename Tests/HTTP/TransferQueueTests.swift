import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A server that delays its replies to `/held` until a test releases them, and a client with one connection.
private struct CrowdedService {
  let client: any QueueingClient
  let server: LoopbackServer
  let isHeld = Gate()
  private let places = DispatchSemaphore(value: 0)

  init(_ kind: ClientKind) throws {
    client = kind.makeClient(connections: 1)
    let (isHeld, places) = (isHeld, places)
    server = try LoopbackServer { request, connection in
      if request.target == "/held" {
        isHeld.open()
        places.wait()
      }
      let moved = ScriptedReply(status: "307 Moved", headerFields: ["Location: /new"])
      connection.send(request.target == "/old" ? moved : ScriptedReply())
    }
  }

  func request(_ path: String) -> HTTPRequest { .get(server.url.appending(path: path)) }

  /// Releases the reply to one delayed request.
  func release() { places.signal() }

  /// Sends a request whose reply the server delays, which occupies the only slot.
  func occupy() async -> Task<HTTPReply, any Error> {
    let task = Task { try await client.send(request("held")) }
    await isHeld.wait()
    return task
  }

  /// Returns when a number of requests wait for the slot.
  func wait(for count: Int) async {
    while client.waitingCount != count { await Task.yield() }
  }
}

/// A clock whose wall-clock time is an hour later at each reading.
private final class JumpingClock: HTTPClock {
  private let steps = SteppedClock()
  private let state = Mutex<(readings: Int, waits: [Duration])>((0, []))
  let monotonicTime = Duration.zero

  var now: Date {
    let readings = state.withLock { state in
      state.readings += 1
      return state.readings
    }
    return Date(timeIntervalSince1970: Double(readings) * 3_600)
  }
  /// The durations of all waits.
  var waits: [Duration] { state.withLock { $0.waits } }

  func wait(for duration: Duration) async throws {
    state.withLock { $0.waits.append(duration) }
    try await steps.wait(for: duration)
  }
}

/// A clock that stands still, and releases a slot when the time limit of a request is paused.
private final class ReleasingClock: HTTPClock {
  let now = Date()
  private let permit: TransferPermit
  private let readings = Atomic<Int>(0)

  init(_ permit: TransferPermit) { self.permit = permit }

  /// The first reading is the start of the time limit.
  var monotonicTime: Duration {
    if readings.add(1, ordering: .relaxed).newValue > 1 { permit.release() }
    return .zero
  }

  func wait(for duration: Duration) async throws {
    await Gate().wait()
    try Task.checkCancellation()
  }
}

@Suite("Requests in the queue of a client", .timeLimit(.minutes(15)))
struct TransferQueueTests {
  @Test(arguments: ClientKind.allCases)
  func `the wait in the transfer queue does not count for the time limit of a request`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    let first = await service.occupy()
    let clock = SteppedClock()
    let limited = service.client.limited(to: .seconds(1), clock: clock)
    let second = Task { try await limited.send(service.request("free")) }
    await service.wait(for: 1)
    while clock.waitCount < 1 { await Task.yield() }
    clock.tick()
    service.release()
    #expect(try await first.value.status == .ok)
    #expect(try await second.value.status == .ok)
  }

  @Test(arguments: ClientKind.allCases)
  func `the time limit of a request counts from its admission`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    let first = await service.occupy()
    let clock = SteppedClock()
    let limited = service.client.limited(to: .seconds(1), clock: clock)
    let second = Task { try await limited.send(service.request("held")) }
    await service.wait(for: 1)
    service.release()
    #expect(try await first.value.status == .ok)
    while clock.waitCount < 2 { await Task.yield() }
    clock.tick()
    let error = try await #require(throws: CoherenceError.self) { try await second.value }
    #expect(error.code == .httpTimedOut)
    service.release()
  }

  @Test(arguments: ClientKind.allCases)
  func `outer and inner time limits are paused while a request waits`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    let first = await service.occupy()
    let clock = SteppedClock()
    let limited = service.client.limited(to: .seconds(1), clock: clock).retrying(clock: clock)
      .limited(to: .seconds(5), clock: clock)
    let second = Task { try await limited.send(service.request("free")) }
    await service.wait(for: 1)
    while clock.waitCount < 2 { await Task.yield() }
    clock.tick()
    service.release()
    #expect(try await first.value.status == .ok)
    #expect(try await second.value.status == .ok)
  }

  @Test func `a client can leave a wait of its own out of the time limit of a request`() async throws {
    let (isWaiting, gate, clock) = (Gate(), Gate(), SteppedClock())
    let client = StubClient { _, request in
      await TimeLimitedClient.withoutCounting {
        isWaiting.open()
        await gate.wait()
      }
      return .make(to: request)
    }
    let limited = client.limited(to: .seconds(1), clock: clock)
    let reply = Task { try await limited.send(.get("https://example.org/")) }
    await isWaiting.wait()
    while clock.waitCount < 1 { await Task.yield() }
    clock.tick()
    gate.open()
    #expect(try await reply.value.status == .ok)
  }

  @Test func `a forward jump of the wall clock does not shorten the time limit of a request`() async throws {
    let clock = JumpingClock()
    let client = StubClient { _, request in
      while clock.waits.isEmpty { await Task.yield() }
      await TimeLimitedClient.withoutCounting {}
      while clock.waits.count < 2 { await Task.yield() }
      return .make(to: request)
    }
    let reply = try await client.limited(to: .seconds(30), clock: clock).send(.get("https://example.org/"))
    #expect(reply.status == .ok)
    #expect(clock.waits == [.seconds(30), .seconds(30)])
  }

  @Test(arguments: ClientKind.allCases)
  func `requests beyond the number of connections wait and are sent in order`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    let first = await service.occupy()
    var others: [Task<HTTPReply, any Error>] = []
    for number in 1...3 {
      others.append(Task { try await service.client.send(service.request("\(number)")) })
      await service.wait(for: number)
    }
    #expect(service.server.requests.map(\.target) == ["/held"])
    service.release()
    for task in [first] + others { _ = try await task.value }
    #expect(service.server.requests.map(\.target) == ["/held", "/1", "/2", "/3"])
  }

  @Test(arguments: ClientKind.allCases)
  func `a cancelled waiting request is never sent and delays no other request`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    let first = await service.occupy()
    let second = Task { try await service.client.send(service.request("2")) }
    await service.wait(for: 1)
    let third = Task { try await service.client.send(service.request("3")) }
    await service.wait(for: 2)
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(service.client.waitingCount == 1)
    service.release()
    for task in [first, third] { _ = try await task.value }
    #expect(service.server.requests.map(\.target) == ["/held", "/3"])
  }

  @Test(arguments: ClientKind.allCases)
  func `a redirect is followed even if one request at a time may run`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    #expect(try await service.client.send(service.request("old")).status == .ok)
    #expect(service.server.requests.map(\.target) == ["/old", "/new"])
  }

  @Test(arguments: ClientKind.allCases)
  func `a failed request releases its slot`(kind: ClientKind) async throws {
    let service = try CrowdedService(kind)
    let canceled = await service.occupy()
    canceled.cancel()
    await #expect(throws: CancellationError.self) { try await canceled.value }
    #expect(try await service.client.send(service.request("free")).status == .ok)
    service.release()
  }

  @Test func `a request whose slot becomes free before its wait begins is admitted`() async throws {
    let queue = TransferQueue(limit: 1)
    @Sendable func admit() async throws -> TransferPermit {
      try await queue.admit(to: URL(string: "https://example.org/").flatMap { HTTPOrigin($0) })
    }
    let clock = ReleasingClock(try await admit())
    let client = StubClient { _, request in
      try await admit().release()
      return .make(to: request)
    }
    let reply = try await client.limited(to: .seconds(1), clock: clock).send(.get("https://example.org/"))
    #expect(reply.status == .ok)
  }

  @Test func `cancelled requests leave no growing number of tickets while every slot is occupied`() async throws {
    let queue = TransferQueue(limit: 1)
    @Sendable func admit() async throws -> TransferPermit {
      try await queue.admit(to: URL(string: "https://example.org/").flatMap { HTTPOrigin($0) })
    }
    let running = try await admit()
    let waiting = Task { try await admit() }
    while queue.waitingCount < 1 { await Task.yield() }
    for _ in 0..<500 {
      let canceled = Task { try await admit() }
      while queue.waitingCount < 2 { await Task.yield() }
      canceled.cancel()
      await #expect(throws: CancellationError.self) { try await canceled.value }
    }
    #expect(queue.ticketCount <= 100)
    running.release()
    try await waiting.value.release()
    #expect(queue.ticketCount == 0)
  }
}
