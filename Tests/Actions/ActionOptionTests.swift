import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Testing

@Suite("Priorities and dependencies of actions")
struct ActionOrderTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws {
    stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
  }

  @Test func `waiting actions begin by priority, then in the order of submission`() async throws {
    connect.suspended = true
    let log = OrderLog()
    let priorities: [ActionPriority] = [.normal, .veryLow, .high, .normal, .veryHigh, .low, .high]
    let handles = try priorities.enumerated().map { number, priority in
      try connect.execute(
        ClosureAction(ConnectEntity1.self) { _ in log.enter(number) }, options: ActionOptions(priority: priority))
    }
    connect.suspended = false
    for handle in handles { try await handle.value }
    #expect(log.numbers == [4, 2, 6, 0, 3, 5, 1])
  }

  @Test func `an action begins after its dependencies have finished, also in other queues`() async throws {
    let script = MockScript(waits: true)
    let first = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    let second = try connect.execute(MockEntityAction<ConnectEntity2>())
    let last = try connect.execute(MockGenericAction(), options: ActionOptions(dependencies: [first, second]))
    try await second.value
    let other = try connect.execute(MockGenericAction())
    try await other.value
    #expect(last.state == .pending)
    script.release()
    try await last.value
    #expect(first.state == .finished)
  }

  @Test func `an action with a failed dependency does not run and fails with dependencyFailed`() async throws {
    let script = MockScript()
    let failing = try connect.execute(MockGenericAction(script: MockScript(fails: true)))
    let handle = try connect.execute(
      MockGenericAction(script: script), options: ActionOptions(dependencies: [failing]))
    let next = try connect.execute(MockGenericAction(script: script), options: ActionOptions(dependencies: [handle]))
    await #expect { try await handle.value } throws: { error in
      ErrorCode.dependencyFailed ~= error && (error as? CoherenceError)?.underlying is MockError
    }
    await #expect { try await next.value } throws: { ErrorCode.dependencyFailed ~= $0 }
    #expect(handle.completionStatus == .failed)
    #expect(script.runCount == 0)
  }

  @Test func `an action runs after failed dependencies if its options allow it`() async throws {
    let failing = try connect.execute(MockGenericAction(script: MockScript(fails: true)))
    let options = ActionOptions(dependencies: [failing], runsAfterFailedDependencies: true)
    try await connect.execute(MockGenericAction(), options: options).value
  }

  @Test func `the failure of the first action of a long chain fails every action of the chain`() async throws {
    let script = MockScript()
    let gate = TaskGate()
    let first = try connect.execute(
      TaskAction {
        await gate.pass()
        throw MockError()
      })
    var last: AnyActionHandle = first
    for _ in 0..<3_000 {
      last = try connect.execute(MockGenericAction(script: script), options: ActionOptions(dependencies: [last]))
    }
    gate.open()
    try await last.waitUntilFinished()
    #expect(last.error.map { ErrorCode.dependencyFailed ~= $0 } == true)
    #expect(script.runCount == 0)
  }

  @Test func `a stop cancels a long chain of dependent actions`() async throws {
    let gate = TaskGate()
    var last: AnyActionHandle = try connect.execute(TaskAction { await gate.pass() })
    for _ in 0..<3_000 {
      last = try connect.execute(MockGenericAction(), options: ActionOptions(dependencies: [last]))
    }
    try await connect.stop()
    #expect(last.completionStatus == .canceled)
  }

  @Test func `an action that waits for its dependencies can be cancelled`() async throws {
    let script = MockScript(waits: true)
    let first = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    let second = try connect.execute(MockGenericAction(), options: ActionOptions(dependencies: [first]))
    await script.untilBegun()
    second.cancel()
    try await second.waitUntilFinished()
    #expect(second.completionStatus == .canceled && first.state == .executing)
    script.release()
    try await first.value
  }

  @Test func `the options of a submission replace the options of the action`() async throws {
    let gate = MockScript(waits: true)
    let blocker = try connect.execute(MockGenericAction(script: gate))
    await gate.untilBegun()
    let log = OrderLog()
    let eager = ActionOptions(priority: .high)
    let handles = try [
      connect.execute(TaskAction { log.enter(0) }),
      connect.execute(TaskAction(options: eager) { log.enter(1) }),
      connect.execute(TaskAction(options: eager) { log.enter(2) }, options: ActionOptions(priority: .low)),
    ]
    gate.release()
    for handle in handles + [blocker] { try await handle.value }
    #expect(log.numbers == [1, 0, 2])
  }
}

@Suite("Equal actions")
struct EqualActionTests {
  private struct Refresh: GenericAction {
    var key: ActionKey? = "albums"
    let script: MockScript
    var options: ActionOptions { ActionOptions(uniqueKey: key) }
    func execute() throws { try script.run() }
    func cancel() { script.cancel() }
  }

  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started() }

  @Test func `a submission joins an unfinished equal action, and every completion block is called`() async throws {
    let script = MockScript(waits: true)
    let (stream, continuation) = AsyncStream<any ActionProxy>.makeStream()
    let handles = try (0..<3).map { _ in
      try connect.execute(Refresh(script: script)) { continuation.yield($0) }
    }
    #expect(handles.allSatisfy { $0 === handles[0] })
    await script.untilBegun()
    #expect(try connect.execute(Refresh(script: script)) === handles[0])
    script.release()
    var completed = 0
    for await proxy in stream {
      #expect(proxy === handles[0])
      completed += 1
      if completed == 3 { break }
    }
    #expect(script.runCount == 1)
    let next = try connect.execute(Refresh(script: script))
    #expect(next !== handles[0])
    script.release()
    try await next.value
    #expect(script.runCount == 2)
  }

  @Test func `actions of another key or type, or without a key, are not equal`() async throws {
    connect.suspended = true
    let script = MockScript()
    let handles: [AnyActionHandle] = try [
      connect.execute(Refresh(script: script)), connect.execute(Refresh(key: "artists", script: script)),
      connect.execute(Refresh(key: ActionKey(7), script: script)), connect.execute(Refresh(key: nil, script: script)),
      connect.execute(Refresh(key: nil, script: script)),
      connect.execute(MockGenericAction(script: script), options: ActionOptions(uniqueKey: "albums")),
    ]
    #expect(Set(handles.map { ObjectIdentifier($0) }).count == handles.count)
    connect.suspended = false
    for handle in handles { try await handle.waitUntilFinished() }
    #expect(script.runCount == handles.count)
  }

  @Test func `a limit or a number of simultaneous actions below one counts as one`() {
    #expect([-3, 0, 1, 2].map { ConcurrencyLimit("uploads", $0).maximum } == [1, 1, 1, 2])
    #expect(ConnectOptions(maximumConcurrentGenericActions: 0).maximumConcurrentGenericActions == 1)
    #expect(ConnectOptions(maximumConcurrentCompletionBlocks: -3).maximumConcurrentCompletionBlocks == 1)
  }

  @Test func `a number of simultaneous actions or completion blocks above its maximum counts as the maximum`() {
    #expect(ConnectOptions(maximumConcurrentGenericActions: .max).maximumConcurrentGenericActions == 65_536)
    #expect(ConnectOptions(maximumConcurrentCompletionBlocks: .max).maximumConcurrentCompletionBlocks == 65_536)
  }

  @Test func `keys of equal values are equal and have equal hashes`() {
    #expect(ActionKey(7) == ActionKey(Int8(7)))
    #expect(Set([ActionKey(7), ActionKey(Int8(7)), ActionKey("7")]).count == 2)
  }

  @Test func `a submission does not join a cancelled action`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    let first = try connect.execute(Refresh(script: script))
    await script.untilBegun()
    first.cancel()
    let second = try connect.execute(Refresh(script: script))
    #expect(first !== second)
    script.release()
    script.release()
    try await second.value
    #expect(first.completionStatus == .canceled)
  }
}
