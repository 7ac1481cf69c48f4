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

  /// An action that calls an outbox.
  private struct CallOutbox: AsyncGenericAction {
    let outbox: Outbox
    let stops: Bool

    func execute() async throws {
      if stops { await outbox.stop() } else { try await outbox.flush() }
    }
  }

  @Test(arguments: Backend.available)
  func `a flush in an action that a handler waits for is refused as a deadlock`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    try stack.outbox.forward(Note.entityName) { handlers in
      handlers.insert { [weak outbox = stack.outbox, connect = stack.connect] _ in
        guard let outbox else { return .accepted }
        do {
          try await connect.execute(CallOutbox(outbox: outbox, stops: false)).value
        } catch ErrorCode.deadlock {
          return .accepted(["id": "s1"])
        }
        return .rejected(ServerRefusal())
      }
    }
    try stack.insertNote("A")
    #expect(try await stack.forwardAll() == 0)
    #expect(try stack.ids() == ["A": "s1"])
    try await stack.connect.stop()
  }

  @Test(arguments: Backend.available)
  func `an action that a handler waits for can stop the outbox, and the handler's decision is saved`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    try stack.outbox.forward(Note.entityName) { handlers in
      handlers.insert { [weak outbox = stack.outbox, connect = stack.connect] _ in
        // The action may begin its wait first. The handler then does not wait.
        if let outbox { _ = try? await connect.execute(CallOutbox(outbox: outbox, stops: true)).value }
        return .accepted(["id": "s1"])
      }
    }
    try stack.insertNote("A")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(stack.options())
    while let event = await events.next() { if case .stopped = event { break } }
    #expect(try stack.ids() == ["A": "s1"])
    try await stack.connect.stop()
  }

  @Test(arguments: Backend.available)
  func `of two outboxes whose handlers flush each other, one flush is refused as a deadlock`(_ backend: Backend)
    async throws
  {
    let stacks = [try NoteStack(backend), try NoteStack(backend)]
    let gates = [ServerGate(), ServerGate()]
    let refusals = Locked(0)
    for (stack, other, started) in [(stacks[0], stacks[1], gates[0]), (stacks[1], stacks[0], gates[1])] {
      try stack.outbox.forward(Note.entityName) { handlers in
        handlers.insert { [weak outbox = other.outbox] _ in
          await started.pass()
          do {
            _ = try await outbox?.flush()
          } catch ErrorCode.deadlock {
            refusals.withLock { $0 += 1 }
          }
          return .accepted(["id": "s1"])
        }
      }
      try stack.insertNote("A")
      try stack.outbox.start(stack.options())
    }
    for gate in gates { gate.open() }
    for stack in stacks { #expect(try await stack.outbox.flush() == 0) }
    for stack in stacks {
      await stack.outbox.stop()
      #expect(try stack.ids() == ["A": "s1"])
    }
    #expect(refusals.withLock { $0 } == 1)
  }

  @Test(arguments: Backend.available)
  func `a handler that an action waits for can stop the Connect of the action`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    try stack.outbox.forward(Note.entityName) { handlers in
      handlers.insert { [weak connect = stack.connect] _ in
        try await connect?.stop(.drain)
        return .accepted(["id": "s1"])
      }
    }
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    // The stop may begin before the flush of the action. The flush then fails.
    let flush = try? stack.connect.execute(CallOutbox(outbox: stack.outbox, stops: false))
    _ = await Task { try await flush?.value }.result
    try await stack.connect.stop()
    await stack.outbox.stop()
    #expect(stack.connect.state == .stopped)
  }
}
