import CoherenceActions
import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Testing

@Suite("The connectivity that asks an address", .timeLimit(.minutes(15)))
struct ProbeConnectivityTests {
  private let request = HTTPRequest(method: .head, scheme: "https", authority: "music.example", path: "/")

  /// A server that fails for some requests, by number.
  private func client(failing numbers: Set<Int>, _ isAsked: Gate = Gate()) -> StubClient {
    StubClient { number, request in
      isAsked.open()
      if numbers.contains(number) {
        throw CoherenceError(.httpTransferFailed, "The server is down.", isRetryable: true)
      }
      return .make(to: request, 404)
    }
  }

  private func untilState(_ isOnline: Bool, of connectivity: ProbeConnectivity) async {
    for await state in connectivity.changes where state == isOnline { return }
  }

  @Test func `while the server fails, the address is asked after each interval until a reply comes`() async {
    let (clock, client) = (TestClock(), self.client(failing: [0, 1, 2]))
    let connectivity = ProbeConnectivity(request, client: client, interval: .seconds(5), clock: clock)
    let changes = connectivity.changes
    var states: [Bool] = []
    for await state in changes {
      states.append(state)
      if client.requests.count >= 4, state { break }
    }
    #expect(connectivity.isOnline)
    #expect(states.last == true)
    #expect(client.requests.count == 4)
    #expect(clock.waits == [.seconds(5), .seconds(5), .seconds(5)])
  }

  @Test func `a check says whether the server replies, and an error of the server counts as offline`() async {
    let (clock, isAsked) = (GatedClock(), Gate())
    let client = StubClient { number, request in
      isAsked.open()
      return .make(to: request, number == 1 ? 500 : 499)
    }
    let connectivity = ProbeConnectivity(request, client: client, clock: clock)
    await isAsked.wait()
    #expect(await connectivity.check() == false)
    #expect(!connectivity.isOnline)
    clock.ring()
    await untilState(true, of: connectivity)
  }

  @Test func `a reported failure asks the address`() async {
    let (clock, isAsked) = (GatedClock(), Gate())
    let client = self.client(failing: [1], isAsked)
    let connectivity = ProbeConnectivity(request, client: client, clock: clock)
    await isAsked.wait()
    // An outbox and a refresher know the protocol alone.
    let reported: any Connectivity = connectivity
    reported.noteFailure()
    await untilState(false, of: connectivity)
    clock.ring()
    await untilState(true, of: connectivity)
    #expect(client.requests.count == 3)
  }

  @Test func `failures that are reported during a request share one further request`() async {
    let (isBegun, isAsked, isAskedAgain, reply) = (Gate(), Gate(), Gate(), Gate())
    let client = StubClient { number, request in
      switch number {
      case 0: isBegun.open()
      case 1:
        isAsked.open()
        await reply.wait()
      default: isAskedAgain.open()
      }
      return .make(to: request)
    }
    let connectivity = ProbeConnectivity(request, client: client, clock: GatedClock())
    await isBegun.wait()
    connectivity.noteFailure()
    await isAsked.wait()
    for _ in 0..<1000 { connectivity.noteFailure() }
    reply.open()
    await isAskedAgain.wait()
    #expect(await connectivity.check())
    #expect(client.requests.count == 4)
  }

  @Test func `the caller's test decides on a reply`() async {
    let client = StubClient { _, request in .make(to: request, 200, ["Server": "hotel"]) }
    let connectivity = ProbeConnectivity(request, client: client, clock: GatedClock()) { reply in
      reply.response.headerFields[.server] != "hotel"
    }
    #expect(await connectivity.check() == false)
  }

  @Test func `the address of a server that fails is asked every ten seconds by default`() async {
    let (clock, client) = (TestClock(), self.client(failing: [0]))
    let connectivity = ProbeConnectivity(request, client: client, clock: clock)
    for await isOnline in connectivity.changes where isOnline && client.requests.count >= 2 { break }
    #expect(clock.waits == [.seconds(10)])
  }

  @Test func `a late failure does not count against the reply to a later request`() async {
    let (isBegun, isAsked, late) = (Gate(), Gate(), Gate())
    let client = StubClient { number, request in
      isBegun.open()
      guard number == 1 else { return .make(to: request) }
      isAsked.open()
      await late.wait()
      return .make(to: request, 503)
    }
    let connectivity = ProbeConnectivity(request, client: client, clock: GatedClock())
    await isBegun.wait()
    let first = Task { await connectivity.check() }
    await isAsked.wait()
    #expect(await connectivity.check())
    late.open()
    #expect(await first.value)
    #expect(connectivity.isOnline)
  }

  @Test func `the release of a connectivity ends its requests`() async {
    let clock = EndlessClock()
    var connectivity: ProbeConnectivity? = ProbeConnectivity(request, client: client(failing: [0]), clock: clock)
    await clock.begun.wait()
    #expect(connectivity?.isOnline == false)
    connectivity = nil
    await clock.ended.wait()
  }
}

/// A clock whose waits end with their cancellation only.
private final class EndlessClock: HTTPClock {
  let now = Date()
  let (begun, ended) = (Gate(), Gate())

  func wait(for duration: Duration) async throws {
    begun.open()
    let canceled = Gate()
    await canceled.wait()
    ended.open()
    throw CancellationError()
  }
}
