import CoherenceActions
import CoherenceCore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CoherenceOutbox

@Suite("Several forwarders of one outbox")
struct ForwardingLeaseTests {
  @Test(arguments: Backend.available)
  func `a forwarder does not send an edit that another forwarder has claimed`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    let gate = try await stack.startHeld(sending: "A")
    try other.outbox.start(other.options())
    // At this sleep the other forwarder has searched, and waits for the end of the lease.
    await stack.time.untilSleeping(for: .seconds(60))
    #expect(await stack.server.calls.count == 1)
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    #expect(try await other.outbox.flush() == 0)
    await stack.outbox.stop()
    await other.outbox.stop()
    #expect(await stack.server.calls.count == 1)
  }

  @Test(arguments: Backend.available)
  func `a longest delay below the length of a lease does not end the claim of another forwarder`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    var options = stack.options()
    options.longestDelay = .seconds(10)
    let gate = try await stack.startHeld(sending: "A", options: options)
    #expect(try await other.forwardAll(options) == 1)
    #expect(await stack.server.calls.count == 1)
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(stack.outbox.statistics.lost == 0)
  }

  @Test(arguments: Backend.available)
  func `a flush waits only on request for edits of other processes and for leases of crashed processes`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try stack.insertNote("A")
    try await crash(stack)
    let gate = try await stack.startHeld(sending: "B")
    try other.outbox.start(other.options())
    #expect(try await other.outbox.flush() == 2)
    #expect(try await other.outbox.counts() == OutboxCounts(sending: 2))
    gate.open()
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    async let all = other.outbox.flush(waitsForOthers: true)
    await stack.time.untilSleeping(for: .seconds(60))
    #expect(await stack.server.calls.count == 1)
    stack.time.advance(by: .seconds(60))
    #expect(try await all == 0)
    await other.outbox.stop()
    #expect(await stack.server.calls.count == 2)
  }

  @Test(arguments: Backend.available)
  func `a flush that waits for another process ends soon after that process has sent its edits`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    let gate = try await stack.startHeld(sending: "A")
    try other.outbox.start(other.options())
    async let all = other.outbox.flush(waitsForOthers: true)
    await stack.time.untilSleeping(for: .milliseconds(50))
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    // The lease ends later.
    stack.time.advance(by: .milliseconds(50))
    #expect(try await all == 0)
    await stack.outbox.stop()
    await other.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `two forwarders send each edit once`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    for number in 0..<20 { try stack.insertNote("\(number)") }
    try stack.outbox.start(stack.options(concurrency: 3))
    try other.outbox.start(other.options(concurrency: 3))
    await stack.server.untilCalled(20)
    await stack.outbox.stop()
    await other.outbox.stop()
    #expect(await stack.server.calls.count == 20)
    #expect(await stack.server.records.count == 20)
    #expect(try await stack.outbox.counts().total == 0)
  }

  @Test(arguments: Backend.available)
  func `a lease is renewed as long as its edit is being sent`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let gate = try await stack.startHeld(sending: "A")
    var saves = try stack.outbox.coordinator.entityChanges(of: "CoherenceOutboxEntry").makeAsyncIterator()
    for _ in 0..<4 {
      await stack.time.untilSleeping(for: .seconds(20))
      stack.time.advance(by: .seconds(20))
      _ = await saves.next()
    }
    let entry = try #require(try await stack.outbox.entries(state: .sending).first)
    #expect(entry.leaseEnd == stack.time.date.addingTimeInterval(60))
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `after a suspension of the computer during a call, the forwarder sends the edit once`(_ backend: Backend)
    async throws
  {
    let stack = try NoteStack(backend)
    let gate = try await stack.startHeld(sending: "A", options: stack.options(concurrency: 2))
    // The lease has ended, although the clock of its renewal has not advanced.
    stack.time.date += 3600
    try stack.insertNote("B")
    await stack.server.untilCalled(2)
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.count == 2)
    #expect(stack.outbox.statistics.lost == 0)
  }

  @Test(arguments: Backend.available)
  func `another forwarder sends the edit of a crashed forwarder after the end of the lease`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await crash(stack)
    let other = try stack.other()
    try other.outbox.start(other.options())
    await stack.time.untilSleeping(for: .seconds(60))
    #expect(await stack.server.calls.isEmpty)
    stack.time.advance(by: .seconds(60))
    #expect(try await other.outbox.flush() == 0)
    await other.outbox.stop()
    #expect(await stack.server.applied.count == 1)
  }

  @Test(arguments: Backend.available)
  func `an edit that another forwarder claims first is sent after the end of that forwarder's lease`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try stack.outbox.start(stack.options())
    #expect(try await stack.outbox.flush() == 0)
    // The forwarder listens to saves when it sends this edit, so that it searches for no other reason afterwards.
    try stack.insertNote("A")
    await stack.server.untilCalled(1)
    #expect(try await stack.outbox.flush() == 0)
    let isClaimed = Atomic(false)
    stack.outbox.coordinator.observer = SaveInterference(times: .max, reportingTo: { Issue.record($0) }) {
      guard !isClaimed.load(ordering: .relaxed), try Self.claimFirstEdit(of: other) else { return }
      isClaimed.store(true, ordering: .relaxed)
    }
    try stack.insertNote("B")
    // The other forwarder has crashed.
    await stack.time.untilSleeping(for: .seconds(60))
    #expect(await stack.server.calls.count == 1)
    stack.time.advance(by: .seconds(60))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.count == 2)
  }

  @Test(arguments: Backend.available)
  func `two forwarders send the same edit under one key after the clock is set forward`(_ backend: Backend) async throws
  {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    let gate = try await stack.startHeld(sending: "A")
    stack.time.date += 3600
    #expect(try await other.forwardAll() == 0)
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let calls = await stack.server.calls
    #expect(calls.count == 2 && calls[0].key == calls[1].key)
    #expect(await stack.server.applied.count == 1)
    #expect(stack.outbox.statistics.lost == 1)
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test func `a waiting attempt is due within a minute after the date is set forward`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(retry: RetryPolicy(attempts: 5, initialDelay: .seconds(300), jitter: 0)))
    await stack.time.untilSleeping(for: .seconds(60))
    stack.time.date += 300
    stack.time.advance(by: .seconds(60))
    #expect(try await stack.outbox.flush() == 0)
    #expect(await stack.server.calls.count == 2)
    await stack.outbox.stop()
  }

  @Test func `a lease from before the clock was set back does not block the entry`() async throws {
    let stack = try NoteStack()
    try stack.insertNote("A")
    try await crash(stack)
    stack.time.date -= 86_400
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.applied.count == 1)
  }

  @Test(arguments: Backend.available)
  func `an entry claimed before the clock was set back can be dropped`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await crash(stack)
    let id = try #require(try await stack.outbox.entries(state: .sending).first?.id)
    await #expect { try await stack.outbox.drop(id) } throws: { ErrorCode.illegalState ~= $0 }
    stack.time.date -= 365 * 86_400
    #expect(try await stack.outbox.drop(id) == 1)
  }

  @Test func `an attempt postponed before the clock was set back is due at once`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    let slow = stack.options(retry: RetryPolicy(attempts: 5, initialDelay: .seconds(10), jitter: 0))
    try stack.outbox.start(slow)
    await stack.time.untilSleeping(for: .seconds(10))
    await stack.outbox.stop()
    stack.time.date -= 86_400
    #expect(try await stack.forwardAll(slow) == 0)
    #expect(await stack.server.calls.count == 2)
  }

  /// Claims the first sendable edit, if any, in the place of a forwarder of the stack.
  ///
  /// - Returns: Whether an edit is claimed.
  private static func claimFirstEdit(of stack: NoteStack) throws -> Bool {
    let context = stack.outbox.newContext()
    return try context.performAndWait {
      let found = try stack.outbox.selection(in: context, at: stack.time.date, limit: 1)
      let claim = ForwardClaim(outbox: stack.outbox, claimant: "other")
      let lease = stack.time.date.addingTimeInterval(60)
      return try !claim.take(found.steps, found.objects, until: lease, in: context).isEmpty
    }
  }

  /// Starts a forwarder, and ends it after its first claim as a crash would.
  private func crash(_ stack: NoteStack) async throws {
    stack.outbox.forwardingSteps = CrashPlan(at: .claimed)
    try stack.outbox.start(stack.options())
    await #expect { try await stack.outbox.flush() } throws: { ErrorCode.illegalState ~= $0 }
    await stack.outbox.stop()
    stack.outbox.forwardingSteps = nil
  }
}
