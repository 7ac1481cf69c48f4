import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

@Suite("Events of forwarding in a Connect")
struct ForwardingEventTests {
  /// Returns the next `work` events of a Connect, up to and including the event with a name.
  private func work(_ events: AsyncStream<ConnectEvent>, upTo name: String) async -> [any ConnectWorkEvent] {
    var work: [any ConnectWorkEvent] = []
    for await case .work(let event) in events {
      work.append(event)
      if event.workName == name { break }
    }
    return work
  }

  @Test func `the events of an outbox are in the stream of its Connect, in their order`() async throws {
    let stack = try NoteStack()
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    let (all, own) = (stack.connect.events, stack.outbox.events)
    try await stack.forwardAll()
    let work = await work(all, upTo: "outbox.stopped")
    #expect(
      work.map(\.workName) == [
        "outbox.started", "outbox.sending", "outbox.willRetry", "outbox.sending", "outbox.accepted", "outbox.idle",
        "outbox.stopped",
      ])
    #expect(work.map(\.workSubject) == [nil, "Note", "Note", "Note", "Note", nil, nil])
    #expect(work.allSatisfy { $0 is OutboxEvent })
    var names: [String] = []
    for await event in own {
      names.append(event.workName)
      if case .stopped = event { break }
    }
    #expect(names == work.map(\.workName))
  }

  @Test func `a parked edit and a conflict are events of the Connect`() async throws {
    struct Refusal: Error {}
    let stack = try NoteStack()
    await stack.server.script(.answer(.rejected(Refusal())), .answer(.conflict(["rank": Int64(9)])))
    try stack.insertNote("A")
    try stack.insertNote("B")
    let events = stack.connect.events
    try await stack.forwardAll()
    let names = await work(events, upTo: "outbox.stopped").map(\.workName)
    #expect(
      names.filter { $0 != "outbox.sending" } == [
        "outbox.started", "outbox.parked", "outbox.conflict", "outbox.idle", "outbox.stopped",
      ])
  }
}
