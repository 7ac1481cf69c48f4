import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

@Suite("Forwarding after a crash")
struct ForwardingCrashTests {
  @Test(arguments: Backend.available, ForwardingStep.allCases)
  func `a crash after any step loses no edit, and the server applies no edit twice`(
    _ backend: Backend, _ step: ForwardingStep
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await crash(stack, at: step)
    let later = try stack.other()
    stack.time.advance(by: .seconds(61))
    #expect(try await later.forwardAll() == 0)
    #expect(await stack.server.applied.count == 1)
    #expect(await stack.server.records.count == 1)
    #expect(try later.ids() == ["A": "s1"])
  }

  @Test(arguments: Backend.available, ForwardingStep.allCases)
  func `an edit after a crash is sent after the repeated request, whose contents stay the same`(
    _ backend: Backend, _ step: ForwardingStep
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await crash(stack, at: step)
    try stack.change("A") { $0.title = "B" }
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll() == 0)
    let applied = await stack.server.applied
    #expect(applied.map(\.kind) == [.insert, .update])
    #expect(applied.map { $0.values["title"] } == [.string("A"), .string("B")])
    #expect(try stack.ids() == ["B": "s1"])
  }

  @Test(arguments: Backend.available, ForwardingStep.allCases)
  func `a server that ignores keys applies an edit again after a crash between its reply and the acknowledgement`(
    _ backend: Backend, _ step: ForwardingStep
  ) async throws {
    let stack = try NoteStack(backend)
    await stack.server.ignoreKeys()
    try stack.insertNote("A")
    try await crash(stack, at: step)
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll() == 0)
    let applied = await stack.server.applied
    #expect(applied.count == (step == .answered ? 2 : 1))
    #expect(Set(applied.map(\.key)).count == 1)
    // Such a server makes a second record for a repeated insert. The local record has the key of the last reply.
    #expect(await stack.server.records.count == applied.count)
    #expect(try stack.ids() == ["A": "s\(applied.count)"])

    // A repeated update sets the same values again, and no edit is lost.
    try stack.change("A") { $0.title = "B" }
    try await crash(stack, at: step)
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.applied.count == applied.count * 2)
    #expect(await stack.server.records["s\(applied.count)"]?.values["title"] == .string("B"))
  }

  @Test(arguments: ForwardingStep.allCases)
  func `a crash between the edits of several records loses no edit`(_ step: ForwardingStep) async throws {
    let stack = try NoteStack()
    for title in ["A", "B", "C", "D"] { try stack.insertNote(title) }
    for count in 1...4 {
      stack.outbox.forwardingSteps = CrashPlan(at: step, count: count)
      _ = try? await stack.forwardAll(stack.options(concurrency: 2, lookahead: 2))
      await stack.outbox.stop()
      stack.time.advance(by: .seconds(61))
    }
    stack.outbox.forwardingSteps = nil
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.applied.count == 4)
    #expect(await stack.server.records.count == 4)
    #expect(try stack.ids().values.allSatisfy { $0.hasPrefix("s") })
  }

  /// Starts a forwarder, and waits until it has ended after a step as a crash would.
  private func crash(_ stack: NoteStack, at step: ForwardingStep) async throws {
    stack.outbox.forwardingSteps = CrashPlan(at: step)
    try stack.outbox.start(stack.options())
    // The end of the forwarder ends the flush with an error.
    await #expect { try await stack.outbox.flush() } throws: { ErrorCode.illegalState ~= $0 }
    await stack.outbox.stop()
    stack.outbox.forwardingSteps = nil
    #expect(!stack.outbox.isStarted)
  }
}
