import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

@Suite("Handlers that call their outbox", .timeLimit(.minutes(15)))
struct ForwardingHandlerTests {
  @Test(arguments: Backend.available, [StopMode.drain, .cancel])
  func `a handler can stop its outbox, and its decision is saved`(backend: Backend, mode: StopMode) async throws {
    let stack = try NoteStack(backend)
    try stack.outbox.forward(Note.entityName) { handlers in
      handlers.insert { [weak outbox = stack.outbox] _ in
        await outbox?.stop(mode)
        return .accepted(["id": "s1"])
      }
    }
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options())
    while let event = await events.next() { if case .stopped = event { break } }
    #expect(!stack.outbox.isStarted)
    #expect(try stack.ids() == ["A": "s1"])
    #expect(try await stack.outbox.counts().total == 0)
  }

  @Test(arguments: Backend.available)
  func `a flush in a handler is refused as a deadlock`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.outbox.forward(Note.entityName) { handlers in
      handlers.insert { [weak outbox = stack.outbox] _ in
        do {
          _ = try await outbox?.flush()
        } catch ErrorCode.deadlock {
          return .accepted(["id": "s1"])
        }
        return .rejected(ServerRefusal())
      }
    }
    try stack.insertNote("A")
    #expect(try await stack.forwardAll() == 0)
    #expect(try stack.ids() == ["A": "s1"])
  }
}
