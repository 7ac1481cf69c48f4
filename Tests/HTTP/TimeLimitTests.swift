import CoherenceCore
import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A clock whose time the test sets. Its waits end with the cancellation of their tasks only.
private final class SetClock: HTTPClock {
  let now = Date()
  private let state = Mutex<(time: Duration, waits: [Duration])>((.zero, []))
  /// Opened by the end of the first wait.
  let waitHasEnded = Gate()

  var monotonicTime: Duration { state.withLock { $0.time } }
  var waits: [Duration] { state.withLock { $0.waits } }
  func set(_ time: Duration) { state.withLock { $0.time = time } }

  func wait(for duration: Duration) async throws {
    state.withLock { $0.waits.append(duration) }
    let canceled = Gate()
    await canceled.wait()
    waitHasEnded.open()
    try Task.checkCancellation()
  }
}

/// The time of a request that counts, and the end of the count.
@Suite("The time limit of a request", .timeLimit(.minutes(15)))
struct TimeLimitTests {
  private let request = HTTPRequest.get("https://example.org/")
  private let clock = SetClock()

  @Test func `a request with the longest time limit of the system's clock has its reply`() async throws {
    let client = StubClient { _, request in .make(to: request) }
    #expect(try await client.limited(to: .seconds(Int64.max)).send(request).status == .ok)
  }

  @Test(arguments: [(12, 18), (40, 0), (-5, 30)])
  func `after a wait that does not count, the rest of the time limit remains`(elapsed: Int, rest: Int) async throws {
    let client = StubClient { [clock] _, request in
      while clock.waits.isEmpty { await Task.yield() }
      clock.set(.seconds(elapsed))
      await TimeLimitedClient.withoutCounting { clock.set(.seconds(1000)) }
      while clock.waits.count < 2 { await Task.yield() }
      return .make(to: request)
    }
    #expect(try await client.limited(to: .seconds(30), clock: clock).send(request).status == .ok)
    #expect(clock.waits == [.seconds(30), .seconds(rest)])
  }

  private func waitingClient(failing fails: Bool = false) -> TimeLimitedClient {
    let client = StubClient { [clock] _, request in
      while clock.waits.isEmpty { await Task.yield() }
      if fails { throw CoherenceError(.httpTransferFailed, "The connection broke.") }
      return .make(to: request)
    }
    return client.limited(to: .seconds(30), clock: clock)
  }

  @Test func `the wait for the time limit ends with the reply`() async throws {
    #expect(try await waitingClient().send(request).status == .ok)
    await clock.waitHasEnded.wait()
  }

  @Test func `the wait for the time limit of a stream ends with the body`() async throws {
    let reply = try await waitingClient().stream(request).collected()
    #expect(reply.status == .ok)
    await clock.waitHasEnded.wait()
  }

  @Test(arguments: [true, false])
  func `the wait for the time limit ends with an error`(streams: Bool) async throws {
    let client = waitingClient(failing: true)
    let error = try await #require(throws: CoherenceError.self) {
      if streams { _ = try await client.stream(request) } else { _ = try await client.send(request) }
    }
    #expect(error.code == .httpTransferFailed)
    await clock.waitHasEnded.wait()
  }

  @Test func `a cancelled request has not exceeded its time limit`() async throws {
    let isAsked = Gate()
    let client = StubClient { _, _ in
      isAsked.open()
      while !Task.isCancelled { await Task.yield() }
      // The wait for the time limit ends before the request.
      for _ in 0..<100 { await Task.yield() }
      throw CancellationError()
    }
    let limited = client.limited(to: .seconds(30), clock: clock)
    let task = Task { [request] in try await limited.send(request) }
    await isAsked.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
