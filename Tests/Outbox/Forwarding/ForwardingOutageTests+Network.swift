import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import TestActionSupport
import TestSupport
import Testing

// The network, the policy, and other programs.

extension ForwardingOutageTests {
  @Test func `an edit is sent at once when the network comes back during an outage`() async throws {
    let stack = try NoteStack()
    let network = ManualConnectivity()
    await stack.server.script(.fail(down))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow, connectivity: network))
    await Self.wait(for: "outbox.willRetry", in: &events)
    network.isOnline = false
    await Self.wait(for: "outbox.paused", in: &events)
    network.isOnline = true
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B"])
  }

  @Test func `the only edit is sent at once when the network was offline for a moment during an outage`() async throws {
    let stack = try NoteStack()
    let network = ManualConnectivity()
    await stack.server.script(.fail(down))
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow, connectivity: network))
    await Self.wait(for: "outbox.willRetry", in: &events)
    network.isOnline = false
    network.isOnline = true
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A"])
  }

  @Test(arguments: Backend.available)
  func `a connectivity that is told of an outage ends the delay when the server is back`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let network = ReportedConnectivity(goesOffline: true)
    await stack.server.script(.fail(down))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow, connectivity: network))
    await Self.wait(for: "outbox.willRetry", in: &events)
    try #require(!network.isOnline)
    network.state.isOnline = true
    // No flush, which would end the delay too.
    await Self.wait(for: "outbox.accepted", count: 2, in: &events)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B"])
    #expect(network.reportCount == 1)
  }

  @Test func `a connectivity that stays online during an outage does not shorten the delays`() async throws {
    let stack = try NoteStack()
    let network = ReportedConnectivity(goesOffline: false)
    await stack.server.script(.fail(down), .fail(down))
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow, connectivity: network))
    for (number, delay) in [10, 20].enumerated() {
      await Self.wait(for: "outbox.willRetry", in: &events)
      await stack.time.untilSleeping(for: .seconds(delay))
      #expect(await stack.server.calls.count == number + 1)
      stack.time.advance(by: .seconds(delay))
    }
    await Self.wait(for: "outbox.accepted", in: &events)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "A"])
    #expect(network.reportCount == 2)
  }

  @Test func `the return of the network does not shorten the delay that the server has asked for`() async throws {
    let stack = try NoteStack()
    let network = ManualConnectivity()
    await stack.server.script(.fail(Busy(delay: .seconds(50))))
    try stack.insertNote("A")
    try stack.insertNote("B")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow, connectivity: network))
    await Self.wait(for: "outbox.willRetry", in: &events)
    network.isOnline = false
    await Self.wait(for: "outbox.paused", in: &events)
    network.isOnline = true
    await Self.wait(for: "outbox.resumed", in: &events)
    await Self.pass(.seconds(50), of: stack.time)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "A", "B"])
  }

  @Test func `a policy that does not retry an unavailable server parks each edit, and holds none back`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(down), .fail(down))
    try stack.insertNote("A")
    try stack.insertNote("B")
    let retry = RetryPolicy(attempts: 5, initialDelay: .seconds(10)) { !RetryPolicy.isServiceUnavailable($0) }
    #expect(try await stack.forwardAll(stack.options(retry: retry)) == 2)
    #expect(await Self.titles(stack.server) == ["A", "B"])
    #expect(try await stack.outbox.counts().parked == 2)
  }

  @Test(arguments: Backend.available)
  func `an outage that one program has found does not hold back the edits of another program`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    await stack.server.script(.fail(down))
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    var events = stack.outbox.events.makeAsyncIterator()
    var otherEvents = other.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options(retry: slow))
    await Self.wait(for: "outbox.willRetry", in: &events)
    try other.outbox.start(other.options(retry: slow))
    await Self.wait(for: "outbox.accepted", count: 2, in: &otherEvents)
    #expect(await Self.titles(stack.server) == ["A", "B", "C"])
    stack.time.advance(by: .seconds(10))
    try await stack.outbox.flush()
    try await other.outbox.flush()
    await stack.outbox.stop()
    await other.outbox.stop()
    #expect(await Self.titles(stack.server) == ["A", "B", "C", "A"])
    #expect(try await stack.outbox.counts().total == 0)
  }
}
