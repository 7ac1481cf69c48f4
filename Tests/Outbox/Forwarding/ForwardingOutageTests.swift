import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import TestSupport
import Testing

/// The requests of an outbox whose server is unavailable.
@Suite("Forwarding during an outage")
struct ForwardingOutageTests {
  let slow = RetryPolicy(attempts: 8, initialDelay: .seconds(10), jitter: 0)
  let down = CoherenceError(.serverUnreachable, "The service is down.", isRetryable: true)

  /// A server that is unavailable, and asks for a delay.
  struct Busy: RetryAdvising, AvailabilityReporting {
    let delay: Duration

    var isServiceUnavailable: Bool { true }
    func retryDelay(at now: Date) -> Duration? { delay }
  }

  /// Waits for a number of events with a name.
  static func wait(
    for name: String, count: Int = 1, in events: inout AsyncStream<OutboxEvent>.AsyncIterator
  ) async {
    var missing = count
    while missing > 0, let event = await events.next() { if event.workName == name { missing -= 1 } }
  }

  /// Advances the clock as soon as a task sleeps for the duration.
  static func pass(_ duration: Duration, of time: ManualClock) async {
    await time.untilSleeping(for: duration)
    time.advance(by: duration)
  }

  /// The titles of the notes whose inserts the server has received.
  static func titles(_ server: NoteServer) async -> [String] {
    await server.calls.compactMap { call -> String? in
      guard case .string(let title)? = call.values["title"] else { return nil }
      return title
    }
  }

  @Test(arguments: Backend.available)
  func `an outage costs one request for each delay, and the waiting edits have no attempt`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down), .fail(down), .fail(down))
    try stack.edit { context in
      for number in 0..<1100 {
        let note = try Note(context: context)
        (note.id, note.title) = ("local-\(number)", "\(number)")
      }
    }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow, lookahead: 8))
    for (number, delay) in [10, 20, 40].enumerated() {
      await Self.wait(for: "outbox.willRetry", in: &events)
      await stack.time.untilSleeping(for: .seconds(delay))
      #expect(await stack.server.calls.count == number + 1)
      if number < 2 { stack.time.advance(by: .seconds(delay)) }
    }
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["0", "0", "0"])
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 1100))
    #expect(try await stack.outbox.entries(limit: 2000).filter { $0.attempts > 0 }.count == 1)
  }

  @Test(arguments: Backend.available)
  func `after the delay one edit is sent, and its acceptance opens the way for the others`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down), .fail(down))
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    for delay in [10, 20] {
      await Self.wait(for: "outbox.willRetry", in: &events)
      await stack.time.untilSleeping(for: .seconds(delay))
      stack.time.advance(by: .seconds(delay))
    }
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "A", "B", "C"])
    #expect(await stack.server.calls.map(\.attempt) == [1, 2, 3, 1, 1])
  }

  @Test(arguments: Backend.available)
  func `requests on their way finish during an outage, and edits claimed ahead are released without an attempt`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let gates = [ServerGate(), ServerGate(), ServerGate()]
    for gate in gates { await stack.server.hold(at: gate) }
    await stack.server.script(.fail(down))
    for title in ["A", "B", "C", "D", "E", "F"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(concurrency: 3, retry: slow, lookahead: 4))
    await stack.server.untilCalled(3)
    gates[0].open()
    await Self.wait(for: "outbox.willRetry", in: &events)
    for gate in gates.dropFirst() { gate.open() }
    await Self.wait(for: "outbox.accepted", count: 2, in: &events)
    await stack.time.untilSleeping(for: .seconds(10))
    #expect(await stack.server.calls.count == 3)
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.attempts) == [1, 0, 0, 0] && entries.allSatisfy { $0.state == .pending })
    stack.time.advance(by: .seconds(10))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.map(\.attempt) == [1, 1, 1, 2, 1, 1, 1])
  }

  @Test(arguments: Backend.available)
  func `no edit is sent before the time that an unavailable server has asked for`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(Busy(delay: .seconds(100))))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    await Self.wait(for: "outbox.willRetry", in: &events)
    // The forwarder sleeps at most 60 of the 100 seconds at once, to notice a date set forward.
    await stack.time.untilSleeping(for: .seconds(60))
    stack.time.advance(by: .seconds(60))
    await stack.time.untilSleeping(for: .seconds(40))
    #expect(await stack.server.calls.count == 1)
    stack.time.advance(by: .seconds(40))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B"])
  }

  @Test(arguments: Backend.available)
  func `an edit whose requests always fail like an outage holds no other edit back after its last attempt`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down), .fail(down), .answer(.accepted), .fail(down))
    for title in ["A", "B", "C", "D"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: RetryPolicy(attempts: 2, initialDelay: .seconds(7), jitter: 0)))
    for delay in [7, 14] {
      await Self.wait(for: "outbox.willRetry", in: &events)
      await Self.pass(.seconds(delay), of: stack.time)
    }
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B", "A", "C", "D"])
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 1))
  }

  @Test func `edits that have used up their attempts during an outage take turns`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(down), .fail(down), .fail(down), .fail(down))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    let retry = RetryPolicy(attempts: 1, initialDelay: .seconds(7), factor: 1, jitter: 0)
    try stack.outbox.start(stack.options(retry: retry))
    for _ in 0..<4 {
      await Self.wait(for: "outbox.willRetry", in: &events)
      await Self.pass(.seconds(7), of: stack.time)
    }
    await Self.wait(for: "outbox.accepted", count: 2, in: &events)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "B", "A", "B", "A", "B"])
  }

  @Test func `a request from before the end of an outage does not begin another one`() async throws {
    let stack = try NoteStack()
    let gate = ServerGate()
    await stack.server.script(.fail(down), .fail(down))
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    let retry = RetryPolicy(attempts: 8, initialDelay: .seconds(7), jitter: 0)
    try stack.outbox.start(stack.options(concurrency: 2, retry: retry))
    await Self.wait(for: "outbox.willRetry", in: &events)
    await stack.server.hold(at: gate)
    let failed = try #require(try await stack.outbox.entries().first)
    #expect(try await stack.outbox.drop(failed.id) == 1)
    try stack.insertNote("B")
    try stack.insertNote("C")
    await Self.pass(.seconds(7), of: stack.time)
    await stack.server.untilCalled(2)
    let retried = try await stack.outbox.entries()[1]
    try await stack.outbox.retry(retried.id)
    await Self.wait(for: "outbox.accepted", in: &events)
    gate.open()
    await Self.wait(for: "outbox.willRetry", in: &events)
    try stack.insertNote("D")
    await Self.wait(for: "outbox.accepted", in: &events)
    await Self.pass(.seconds(7), of: stack.time)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "B", "C", "D", "B"])
  }

  // MARK: Decisions of the user

  @Test(arguments: Backend.available)
  func `an edit that the user retries is sent at once, and its acceptance ends the delays of the others`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down))
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    await Self.wait(for: "outbox.willRetry", in: &events)
    let entries = try await stack.outbox.entries()
    try await stack.outbox.retry(entries[1].id)
    for _ in entries { await Self.wait(for: "outbox.accepted", in: &events) }
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "B", "A", "C"])
  }

  @Test(arguments: Backend.available)
  func `a flush sends one edit at once, and the others when the server replies`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down), .fail(down))
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    let once = RetryPolicy(attempts: 1, initialDelay: .seconds(600), maximumDelay: .seconds(600), jitter: 0)
    try stack.outbox.start(stack.options(retry: once))
    await Self.wait(for: "outbox.willRetry", in: &events)
    #expect(try await stack.outbox.flush() == 3)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let titles = await Self.titles(stack.server)
    #expect(titles.prefix(3) == ["A", "B", "C"] && titles.dropFirst(3).sorted() == ["A", "B"])
  }

  @Test(arguments: Backend.available)
  func `a flush sends nothing before the end of the delay that the server asks for`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(Busy(delay: .seconds(60))))
    for title in ["A", "B"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(
      stack.options(retry: RetryPolicy(attempts: 1, initialDelay: .seconds(1), maximumDelay: .seconds(1), jitter: 0)))
    await Self.wait(for: "outbox.willRetry", in: &events)
    #expect(try await stack.outbox.flush() == 2)
    #expect(await Self.titles(stack.server) == ["A"])
    await Self.pass(.seconds(60), of: stack.time)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `a retry that finds the server unavailable lets no other edit pass`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down), .fail(down))
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    await Self.wait(for: "outbox.willRetry", in: &events)
    let retried = try await stack.outbox.entries()[1]
    try await stack.outbox.retry(retried.id)
    await Self.wait(for: "outbox.willRetry", in: &events)
    await stack.time.untilSleeping(for: .seconds(10))
    #expect(try await stack.outbox.entries().map(\.attempts) == [1, 1, 0])
    stack.time.advance(by: .seconds(10))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "B", "A", "B", "C"])
  }

  @Test(arguments: Backend.available)
  func `a flush waits for the other edits after the user has dropped the edit whose attempts were used up`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(down), .fail(down), .fail(Busy(delay: .seconds(30))))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: RetryPolicy(attempts: 2, initialDelay: .seconds(10), jitter: 0)))
    await Self.wait(for: "outbox.willRetry", in: &events)
    await Self.pass(.seconds(10), of: stack.time)
    await Self.wait(for: "outbox.willRetry", in: &events)
    #expect(try await stack.outbox.flush() == 2)
    let first = try #require(try await stack.outbox.entries().first)
    #expect(try await stack.outbox.drop(first.id) == 1)
    // The delay has ended, so that the flush sends the other edit, whose first attempt fails.
    stack.time.date += 20
    async let passed: Void = Self.pass(.seconds(30), of: stack.time)
    #expect(try await stack.outbox.flush() == 0)
    await passed
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B", "B"])
  }

  @Test func `a pause does not shorten the delay after an outage`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(down))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    await Self.wait(for: "outbox.willRetry", in: &events)
    stack.outbox.pause()
    await Self.wait(for: "outbox.paused", in: &events)
    stack.outbox.resume()
    await Self.wait(for: "outbox.resumed", in: &events)
    await Self.pass(.seconds(10), of: stack.time)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B"])
  }

  @Test func `an outage from before the clock was set back does not end the delays of later failures`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(down), .fail(down))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    await Self.wait(for: "outbox.willRetry", in: &events)
    stack.time.date -= 86_400
    // The new entry lets the forwarder search.
    try stack.insertNote("C")
    await Self.wait(for: "outbox.willRetry", in: &events)
    await Self.pass(.seconds(20), of: stack.time)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "A", "B", "C"])
  }
}
