import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@testable import CoherenceOutbox

@Suite("Pauses and the end of forwarding")
struct ForwardingPauseTests {
  @Test func `an outbox sends nothing while the network is offline`() async throws {
    let stack = try NoteStack()
    let network = ManualConnectivity(isOnline: false)
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(connectivity: network))
    #expect(try await stack.outbox.flush() == 1)
    #expect(await stack.server.calls.isEmpty)
    network.isOnline = true
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test func `a started outbox sends its edits when the network comes back`() async throws {
    let stack = try NoteStack()
    let network = ManualConnectivity(isOnline: false)
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(connectivity: network))
    #expect(try await stack.outbox.flush() == 1)
    network.isOnline = true
    await stack.server.untilCalled(1)
    await stack.outbox.stop()
    #expect(try await stack.outbox.counts().total == 0)
  }

  @Test func `a failed attempt does not count while the network is offline`() async throws {
    let stack = try NoteStack()
    let network = ManualConnectivity()
    let gate = ServerGate()
    await stack.server.hold(at: gate)
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(retry: RetryPolicy(attempts: 1), connectivity: network))
    await stack.server.untilCalled(1)
    network.isOnline = false
    gate.open()
    #expect(try await stack.outbox.flush() == 1)
    #expect(try await stack.outbox.counts().parked == 0)
    network.isOnline = true
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test func `a paused outbox sends nothing until it is resumed`() async throws {
    let stack = try NoteStack()
    stack.outbox.pause()
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    #expect(try await stack.outbox.flush() == 1)
    stack.outbox.resume()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test func `a pause releases the edits claimed ahead`() async throws {
    let stack = try NoteStack()
    let gate = try await stack.startHeld(sending: "A", "B", "C", options: stack.options(lookahead: 8))
    stack.outbox.pause()
    gate.open()
    #expect(try await stack.outbox.flush() == 2)
    #expect(try await stack.outbox.counts().pending == 2)
    #expect(await stack.server.calls.count == 1)
    stack.outbox.resume()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.map(\.attempt) == [1, 1, 1])
  }

  @Test func `a suspended Connect sends nothing until it is resumed`() async throws {
    let stack = try NoteStack()
    stack.connect.suspended = true
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    #expect(try await stack.outbox.flush() == 1)
    stack.connect.suspended = false
    await stack.server.untilCalled(1)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test func `a started outbox sends new edits without a further call`() async throws {
    let stack = try NoteStack()
    try stack.outbox.start(stack.options())
    #expect(try await stack.outbox.flush() == 0)
    try stack.insertNote("A")
    await stack.server.untilCalled(1)
    await stack.outbox.stop()
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test func `a draining stop writes the reply to the running request to the record`() async throws {
    let stack = try NoteStack()
    let gate = try await stack.startHeld(sending: "A", "B")
    async let stopped: Void = stack.outbox.stop()
    gate.open()
    await stopped
    #expect(try stack.ids()["A"] == "s1")
    #expect(!stack.outbox.isStarted)
    let counts = try await stack.outbox.counts()
    #expect(counts.sending == 0)
  }

  /// A stack with a request at a gate, and a stop that waits for the request.
  private func stopping() async throws -> (stack: NoteStack, gate: ServerGate, stop: Task<Void, Never>) {
    let stack = try NoteStack()
    let gate = try await stack.startHeld(sending: "A")
    let stop = Task { await stack.outbox.stop() }
    while stack.outbox.forwarding.runner?.messages.mode == .running { await Task.yield() }
    return (stack, gate, stop)
  }

  @Test func `a start during a stop takes effect at the end of the stop`() async throws {
    let (stack, gate, stop) = try await stopping()
    try stack.outbox.start(stack.options())
    gate.open()
    await stop.value
    try stack.insertNote("B")
    #expect(try await stack.outbox.flush() == 0)
    #expect(try stack.ids() == ["A": "s1", "B": "s2"])
    await stack.outbox.stop()
    #expect(!stack.outbox.isStarted)
  }

  @Test func `a stop ends a start that waits for the end of an earlier stop`() async throws {
    let (stack, gate, stop) = try await stopping()
    try stack.outbox.start(stack.options())
    let later = Task { await stack.outbox.stop() }
    while stack.outbox.forwarding.hasNextStart { await Task.yield() }
    gate.open()
    await stop.value
    await later.value
    #expect(!stack.outbox.isStarted)
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test(arguments: Backend.available)
  func `an edit whose request was cancelled is sent again under the same key`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.hold(at: ServerGate())
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    await stack.server.untilCalled(1)
    await stack.outbox.stop(.cancel)
    #expect(try await stack.outbox.counts().pending == 1)
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.count == 2 && calls[0].key == calls[1].key)
  }

  @Test func `a flush of a stopped outbox throws`() async throws {
    let stack = try NoteStack()
    await #expect { try await stack.outbox.flush() } throws: { ErrorCode.illegalState ~= $0 }
    try await stack.forwardAll()
    await #expect { try await stack.outbox.flush() } throws: { ErrorCode.illegalState ~= $0 }
  }

  @Test func `cancelling a flush ends the flush, and the outbox continues to send`() async throws {
    let stack = try NoteStack()
    let gate = try await stack.startHeld(sending: "A", "B")
    // An immediate task runs up to its first suspension, in which it waits for the forwarder.
    let flush = Task.immediateDetached { try await stack.outbox.flush() }
    flush.cancel()
    await #expect(throws: CancellationError.self) { try await flush.value }
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await stack.outbox.flush()
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  @Test func `an idle outbox runs no timer`() async throws {
    let stack = try NoteStack()
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    try await stack.outbox.flush()
    try await stack.outbox.flush()
    #expect(stack.time.sleeperCount == 0)
    await stack.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `a stopped outbox runs no timer, although an edit waits for its next attempt`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options(retry: RetryPolicy(attempts: 5, initialDelay: .seconds(10), jitter: 0)))
    await stack.time.untilSleeping(for: .seconds(10))
    await stack.outbox.stop()
    #expect(stack.time.sleeperCount == 0)
  }

  @Test func `events report each attempt of an edit and its acceptance`() async throws {
    let stack = try NoteStack()
    var events = stack.outbox.events.makeAsyncIterator()
    await stack.server.script(.fail(LostAnswer()))
    try stack.insertNote("A")
    try await stack.forwardAll()
    var names: [String] = []
    while names.last != "stopped", let event = await events.next() {
      switch event {
      case .started: names.append("started")
      case .stopped: names.append("stopped")
      case .sending(let request): names.append("sending \(request.attempt)")
      case .willRetry(_, let error, _): names.append("willRetry \(error is LostAnswer)")
      case .accepted(let request): names.append("accepted \(request.attempt)")
      case .idle: if names.last != "idle" { names.append("idle") }
      default: names.append("other")
      }
    }
    let expected = ["started", "sending 1", "willRetry true", "sending 2", "accepted 2", "stopped"]
    #expect(names.filter { $0 != "idle" } == expected)
  }
}
