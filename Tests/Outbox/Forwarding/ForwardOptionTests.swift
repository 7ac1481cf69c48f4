import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import TestSupport
import Testing

@Suite("Options of forwarding", .timeLimit(.minutes(15)))
struct ForwardOptionTests {
  private struct Busy: RetryAdvising {
    func retryDelay(at now: Date) -> Duration? { .seconds(100) }
  }

  /// The cause of a delay before an attempt.
  enum Cause: CaseIterable {
    case policy, error, server
  }

  @Test(arguments: Cause.allCases)
  func `a delay of the policy, of an error or of the server is shortened to the longest delay`(cause: Cause)
    async throws
  {
    let stack = try NoteStack()
    switch cause {
    case .policy: await stack.server.script(.fail(LostAnswer()))
    case .error: await stack.server.script(.fail(Busy()))
    case .server: await stack.server.script(.answer(.retry(after: .seconds(300))))
    }
    let first = cause == .policy ? Duration.seconds(50) : .zero
    var options = stack.options(retry: RetryPolicy(attempts: 5, initialDelay: first, jitter: 0))
    options.longestDelay = .seconds(20)
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(options)
    while let event = await events.next() {
      guard case .willRetry(_, error: _, delay: let delay) = event else { continue }
      #expect(delay == .seconds(20))
      break
    }
    await stack.outbox.stop()
    #expect(try await stack.outbox.entries().map(\.nextAttemptDate) == [stack.time.date + 20])
  }

  @Test(arguments: Backend.available)
  func `an edit with the longest delay before its next attempt waits in the store`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.answer(.retry(after: .seconds(Int64.max))))
    var options = stack.options()
    options.longestDelay = .seconds(Int64.max)
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(options)
    var isDecided = false
    while !isDecided, let event = await events.next() {
      switch event {
      case .willRetry, .parked, .failed: isDecided = true
      default: break
      }
    }
    await stack.outbox.stop()
    let entry = try #require(try await stack.outbox.entries().first)
    #expect(entry.state == .pending)
    #expect(try #require(entry.nextAttemptDate) > stack.time.date + 86_400 * 365_000)
  }

  @Test(arguments: Backend.available)
  func `the length of a lease is an option, and the lease is renewed at a third of it`(_ backend: Backend) async throws
  {
    let stack = try NoteStack(backend)
    var options = stack.options()
    options.leaseDuration = .seconds(30)
    let gate = try await stack.startHeld(sending: "A", options: options)
    #expect(try await stack.outbox.entries(state: .sending).map(\.leaseEnd) == [stack.time.date + 30])
    var saves = try stack.outbox.coordinator.entityChanges(of: "CoherenceOutboxEntry").makeAsyncIterator()
    await stack.time.untilSleeping(for: .seconds(10))
    stack.time.advance(by: .seconds(10))
    _ = await saves.next()
    #expect(try await stack.outbox.entries(state: .sending).map(\.leaseEnd) == [stack.time.date + 30])
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `the statistics have the number of edits that handlers are sending now`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let gate = try await stack.startHeld(sending: "A")
    #expect(stack.outbox.statistics.inFlight == 1 && stack.outbox.statistics.attempts == 1)
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    #expect(stack.outbox.statistics.inFlight == 0)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `the statistics count each attempt, and each retried, parked, conflicting and accepted edit`(_ backend: Backend)
    async throws
  {
    let stack = try NoteStack(backend)
    await stack.server.script(
      .fail(LostAnswer()), .answer(.rejected(ServerRefusal())), .answer(.conflict(["rank": Int64(9)])))
    for title in ["A", "B", "C", "D"] { try stack.insertNote(title) }
    #expect(try await stack.forwardAll() == 2)
    let statistics = stack.outbox.statistics
    #expect(statistics.attempts == 5 && statistics.retried == 1 && statistics.accepted == 2)
    #expect(statistics.parked == 2 && statistics.conflicts == 1 && statistics.lost == 0)
  }

  @Test func `a pause is visible until the outbox is resumed`() throws {
    let stack = try NoteStack()
    #expect(!stack.outbox.isPaused)
    stack.outbox.pause()
    #expect(stack.outbox.isPaused)
    stack.outbox.resume()
    #expect(!stack.outbox.isPaused)
  }

  @Test func `a lease is a day long at most`() {
    #expect(ForwardOptions(leaseDuration: .seconds(100_000)).leaseDuration == .seconds(86_400))
    var options = ForwardOptions()
    options.leaseDuration = .seconds(100_000)
    #expect(options.leaseDuration == .seconds(86_400))
  }

  @Test func `numbers below their minimum count as the minimum`() {
    let options = ForwardOptions(concurrency: 0, leaseDuration: .zero, lookahead: -1)
    #expect(options.concurrency == 1 && options.leaseDuration == .seconds(1) && options.lookahead == 0)
    var later = ForwardOptions()
    later.concurrency = 0
    later.leaseDuration = .zero
    later.lookahead = -1
    #expect(later.concurrency == 1 && later.leaseDuration == .seconds(1) && later.lookahead == 0)
  }

  @Test func `numbers above their maximum count as the maximum`() {
    var options = ForwardOptions(concurrency: .max, lookahead: .max)
    #expect(options.concurrency == 1_048_576 && options.lookahead == 1_048_576)
    options.concurrency = 1_048_577
    options.lookahead = 1_048_577
    #expect(options.concurrency == 1_048_576 && options.lookahead == 1_048_576)
  }
}
