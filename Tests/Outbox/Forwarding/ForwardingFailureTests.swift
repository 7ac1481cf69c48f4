import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import TestSupport
import Testing

@Suite("Forwarding after failures")
struct ForwardingFailureTests {
  private let slow = RetryPolicy(attempts: 5, initialDelay: .seconds(10), jitter: 0)

  @Test(arguments: Backend.available)
  func `a failed edit is sent again after the delay of the policy, under the same key`(_ backend: Backend) async throws
  {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(retry: slow))
    await stack.time.untilSleeping(for: .seconds(10))
    #expect(await stack.server.calls.count == 1)
    stack.time.advance(by: .seconds(10))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let calls = await stack.server.calls
    #expect(calls.map(\.attempt) == [1, 2])
    #expect(calls[0].key == calls[1].key)
  }

  /// Waits for the event of a failed attempt that another one follows.
  private static func retry(in events: inout AsyncStream<OutboxEvent>.AsyncIterator) async throws {
    while let event = await events.next() {
      if case .willRetry = event { return }
      if case .parked(_, let error) = event { throw error }
    }
  }

  @Test(arguments: Backend.available)
  func `an edit whose entry has the greatest number of attempts is sent`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.sendWithoutAnswer(.fail(LostAnswer()))
    try stack.edit { context in
      for entry in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceOutboxEntry")) {
        try entry.setValue(Int64.max, for: "attempts")
      }
    }
    stack.time.advance(by: .seconds(30))
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.map(\.attempt) == [1, .max])
  }

  @Test func `the next attempt waits as long as the error advises`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(Busy()))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    // The forwarder sleeps at most 60 of the 100 seconds at once, to notice a date set forward.
    await stack.time.untilSleeping(for: .seconds(60))
    stack.time.advance(by: .seconds(60))
    await stack.time.untilSleeping(for: .seconds(40))
    #expect(await stack.server.calls.count == 1)
    stack.time.advance(by: .seconds(40))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test func `the next attempt waits for the delay that the server has asked for`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.answer(.retry(after: .seconds(30))))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(retry: RetryPolicy(attempts: 1)))
    await stack.time.untilSleeping(for: .seconds(30))
    stack.time.advance(by: .seconds(30))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `an edit is parked with its error after the last attempt`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(LostAnswer()), .fail(LostAnswer()))
    try stack.insertNote("A")
    #expect(try await stack.forwardAll(stack.options(retry: RetryPolicy(attempts: 2, initialDelay: .zero))) == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(entry.lastError == "LostAnswer" && entry.attempts == 2 && !entry.isRejected)
  }

  @Test(arguments: Backend.available)
  func `an edit is not parked while the server is unavailable, and is sent when the server is back`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let down = CoherenceError(.serverUnreachable, "The service is down.", isRetryable: true)
    await stack.server.script(.fail(down), .fail(down), .fail(down), .fail(down))
    try stack.insertNote("A")
    let retry = RetryPolicy(attempts: 2, initialDelay: .seconds(10), maximumDelay: .seconds(20), jitter: 0)
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: retry))
    for (number, delay) in [10, 20, 20].enumerated() {
      try await Self.retry(in: &events)
      let entry = try #require(try await stack.outbox.entries().first)
      #expect(entry.state == .pending && entry.attempts == 1)
      if number == 1 {
        // The present timer shall differ from the next one, which has the same delay.
        await stack.time.untilSleeping(for: .seconds(delay))
        stack.time.advance(by: .seconds(1))
        // The flush sends the edit once, and does not wait for the server beyond the attempts of the policy.
        #expect(try await stack.outbox.flush() == 1)
        try await Self.retry(in: &events)
      }
      await stack.time.untilSleeping(for: .seconds(delay))
      stack.time.advance(by: .seconds(delay))
    }
    while let event = await events.next() { if case .accepted = event { break } }
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let calls = await stack.server.calls
    #expect(calls.map(\.attempt) == [1, 2, 2, 2, 2])
    #expect(Set(calls.map(\.key)).count == 1)
  }

  @Test func `an edit is parked after the last attempt, if a later error is not of the server's availability`()
    async throws
  {
    let stack = try NoteStack()
    let down = CoherenceError(.serverUnreachable, "The service is down.", isRetryable: true)
    await stack.server.script(.fail(down), .fail(down), .fail(LostAnswer()))
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(
      stack.options(retry: RetryPolicy(attempts: 2, initialDelay: .seconds(1), maximumDelay: .seconds(1), jitter: 0)))
    for _ in 0..<2 {
      try await Self.retry(in: &events)
      await stack.time.untilSleeping(for: .seconds(1))
      stack.time.advance(by: .seconds(1))
    }
    while let event = await events.next() { if case .parked = event { break } }
    await stack.outbox.stop()
    #expect(await stack.server.calls.count == 3)
  }

  @Test func `an edit is parked at once after an error without a retry`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(CoherenceError(.invalidValue, "The service refuses the value.")))
    try stack.insertNote("A")
    #expect(try await stack.forwardAll() == 1)
    #expect(await stack.server.calls.count == 1)
    #expect(try await stack.outbox.counts().parked == 1)
  }

  @Test(arguments: Backend.available)
  func `later edits of a refused record wait, and edits of other records are sent`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    try stack.insertNote("A")
    try stack.insertNote("B")
    #expect(try await stack.forwardAll() == 1)
    try stack.change("A") { $0.title = "C" }
    #expect(try await stack.forwardAll() == 2)
    #expect(await stack.server.calls.count == 2)
    #expect(await stack.server.records["s1"]?.values["title"] == .string("B"))
    let counts = try await stack.outbox.counts()
    #expect(counts.parked == 1 && counts.pending == 1)
    let parked = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(parked.isRejected)
    try await stack.outbox.retry(parked.id)
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.records["s2"]?.values["title"] == .string("C"))
  }

  @Test func `an edit without a handler for its kind is parked`() async throws {
    let stack = try NoteStack()
    try stack.outbox.forward(Note.entityName) { [server = stack.server] handlers in
      handlers.update { try await server.receive($0) }
    }
    try stack.insertNote("A")
    #expect(try await stack.forwardAll() == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(entry.lastError?.hasPrefix("forwardUnhandled") == true)
    #expect(await stack.server.calls.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `an accepted edit is parked when the server's reply has an unknown property`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.answer(.accepted(["color": "red"])))
    try stack.insertNote("A")
    try stack.insertNote("B")
    #expect(try await stack.forwardAll() == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(entry.lastError?.hasPrefix("unknownProperty") == true)
    #expect(try stack.ids()["B"] == "s1")
  }

  @Test(arguments: Backend.available)
  func `the delete after an insert without a reply repeats the insert, and uses the key of the server`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.loseAnswer)
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(retry: slow))
    await stack.time.untilSleeping(for: .seconds(10))
    try stack.delete("A")
    stack.time.advance(by: .seconds(10))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.records.isEmpty)
    let calls = await stack.server.calls
    #expect(calls.map(\.kind) == [.insert, .insert, .delete])
    #expect(calls[0].key == calls[1].key && calls[2].id == .string("s1"))
  }

  private struct Busy: RetryAdvising {
    func retryDelay(at now: Date) -> Duration? { .seconds(100) }
  }
}
