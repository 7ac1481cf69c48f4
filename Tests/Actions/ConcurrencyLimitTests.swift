import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Synchronization
import Testing

@Suite("Concurrency limits of actions")
struct ConcurrencyLimitTests {
  @Test func `a concurrency limit bounds the simultaneous actions that share it`() async throws {
    let stack = try ConnectStack.started()
    let limit = ConcurrencyLimit("host", 2)
    let scripts = (0..<5).map { _ in MockScript(waits: true) }
    let handles = try scripts.map {
      try stack.connect.execute(MockGenericAction(script: $0), options: ActionOptions(limit: limit))
    }
    let free = try stack.connect.execute(MockGenericAction())
    try await free.value
    for script in scripts.prefix(2) { await script.untilBegun() }
    #expect(handles.map(\.state) == [.executing, .executing, .pending, .pending, .pending])
    scripts[1].release()
    await scripts[2].untilBegun()
    #expect(handles.map(\.state) == [.executing, .finished, .executing, .pending, .pending])
    handles[3].cancel()
    for script in scripts { script.release() }
    for handle in handles { try await handle.waitUntilFinished() }
    #expect(scripts.map(\.runCount) == [1, 1, 1, 0, 1])
  }

  @Test(arguments: [0, -1])
  func `a concurrency limit below one lets one action run at a time`(maximum: Int) async throws {
    let stack = try ConnectStack.started()
    let options = ActionOptions(limit: ConcurrencyLimit("host", maximum))
    let script = MockScript(waits: true)
    let first = try stack.connect.execute(MockGenericAction(script: script), options: options)
    let second = try stack.connect.execute(MockGenericAction(), options: options)
    try await stack.connect.execute(MockGenericAction()).value
    await script.untilBegun()
    #expect([first, second].map(\.state) == [.executing, .pending])
    script.release()
    for handle in [first, second] { try await handle.value }
  }

  @Test func `a concurrency limit applies across queues`() async throws {
    let stack = try ConnectStack.started()
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let script = MockScript(waits: true)
    let first = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: script), options: options)
    let second = try stack.connect.execute(MockEntityAction<ConnectEntity2>(), options: options)
    await script.untilBegun()
    #expect(second.state == .pending)
    script.release()
    try await first.value
    try await second.value
  }

  @Test func `an action that waits in a suspended queue holds no slot of its limit`() async throws {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let entity = try stack.entity("ConnectEntity1")
    stack.connect.setSuspended(true, for: entity)
    let suspended = try stack.connect.execute(MockEntityAction<ConnectEntity1>(), options: options)
    let other = try stack.connect.execute(MockGenericAction(), options: options)
    // Behind the other action in the only lane.
    try await stack.connect.execute(MockGenericAction()).value
    try #require(other.state == .finished)
    // A resumed action waits for its slot like any other action.
    let script = MockScript(waits: true)
    let holder = try stack.connect.execute(MockGenericAction(script: script), options: options)
    await script.untilBegun()
    stack.connect.setSuspended(false, for: entity)
    try await stack.connect.execute(MockEntityAction<ConnectEntity1>()).value
    #expect(suspended.state == .pending)
    script.release()
    for handle in [holder, suspended] { try await handle.value }
  }

  @Test func `an action behind a running action of its queue holds no slot of its limit`() async throws {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let script = MockScript(waits: true)
    let running = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let waiting = try stack.connect.execute(MockEntityAction<ConnectEntity1>(), options: options)
    let other = try stack.connect.execute(MockGenericAction(), options: options)
    // Behind the other action in the only lane.
    try await stack.connect.execute(MockGenericAction()).value
    #expect(other.state == .finished && waiting.state == .pending)
    script.release()
    for handle in [running, waiting] { try await handle.value }
  }

  @Test func `the waiting action of the highest priority takes a free slot, in any queue`() async throws {
    let stack = try ConnectStack.started()
    let limit = ConcurrencyLimit("host", 1)
    let script = MockScript(waits: true)
    let holder = try stack.connect.execute(MockGenericAction(script: script), options: ActionOptions(limit: limit))
    let log = OrderLog()
    func execute<Object: ManagedObject>(_ type: Object.Type, _ number: Int, _ priority: ActionPriority) throws
      -> AnyActionHandle
    {
      try stack.connect.execute(
        ClosureAction(type) { _ in log.enter(number) }, options: ActionOptions(priority: priority, limit: limit))
    }
    let handles = try [
      execute(ConnectEntity1.self, 3, .normal), execute(ConnectEntity2.self, 2, .high),
      execute(ConnectEntity1.self, 1, .veryHigh),
    ]
    script.release()
    for handle in [holder] + handles { try await handle.waitUntilFinished() }
    #expect(log.numbers == [1, 2, 3])
  }

  /// An action with a limit, overtaken by sixteen later actions while `holder` has the only slot.
  private struct OvertakenAction {
    let holder: MockScript
    let holding: AnyActionHandle
    let overtaken: AnyActionHandle
    /// Runs in the lane of the overtaken action.
    let last: AnyActionHandle
  }

  private func overtake(
    _ stack: ConnectStack, _ options: ActionOptions, last: EntityTaskAction<Void>
  ) async throws -> OvertakenAction {
    let (holder, first) = (MockScript(waits: true), MockScript(waits: true))
    let holding = try stack.connect.execute(MockGenericAction(script: holder), options: options)
    try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: first))
    await first.untilBegun()
    let overtaken = try stack.connect.execute(MockEntityAction<ConnectEntity1>(), options: options)
    for _ in 0..<16 { try stack.connect.execute(MockEntityAction<ConnectEntity1>()) }
    let handle = try stack.connect.execute(last)
    first.release()
    return OvertakenAction(holder: holder, holding: holding, overtaken: overtaken, last: handle)
  }

  @Test func `the next slot is kept for an action that many later actions of its queue have overtaken`() async throws {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let (begun, end) = (TaskGate(), TaskGate())
    let action = try await overtake(
      stack, options,
      last: EntityTaskAction { _ in
        begun.open()
        await end.pass()
      })
    await begun.pass()
    let log = OrderLog()
    let other = try stack.connect.execute(TaskAction { log.enter(1) }, options: options)
    let plain = try stack.connect.execute(TaskAction { log.enter(0) })
    action.holder.release()
    try await plain.value
    #expect(log.numbers == [0], "The slot is kept.")
    end.open()
    for handle in [action.holding, action.overtaken, action.last, other] { try await handle.waitUntilFinished() }
    #expect(log.numbers == [0, 1])
  }

  @Test func `a slot is not kept behind an action that waits for an action with the limit`() async throws {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 1))
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let (begun, end) = (TaskGate(), TaskGate())
    let action = try await overtake(
      stack, options,
      last: EntityTaskAction { [connect = stack.connect] _ in
        begun.open()
        await end.pass()
        try await connect.execute(TaskAction {}, options: options).value
      })
    await begun.pass()
    let plain = try stack.connect.execute(TaskAction {})
    action.holder.release()
    // The slot is kept now, because the holder has finished.
    try await plain.value
    end.open()
    for handle in [action.holding, action.last, action.overtaken] { try await handle.waitUntilFinished() }
    #expect(action.last.error == nil)
  }

  @Test func `actions with and without a limit begin in the order of their submissions after a suspension`()
    async throws
  {
    let stack = try ConnectStack.started()
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let order = Locked<[Int]>([])
    func execute(_ number: Int, _ options: ActionOptions) throws -> AnyActionHandle {
      try stack.connect.execute(
        ClosureAction(ConnectEntity1.self) { _ in order.withLock { $0.append(number) } }, options: options)
    }
    let script = MockScript(waits: true)
    let running = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    var handles = try [execute(0, options), execute(1, ActionOptions())]
    stack.connect.suspended = true
    handles += try [execute(2, ActionOptions()), execute(3, options)]
    handles[2].cancel()
    stack.connect.suspended = false
    script.release()
    try await running.value
    for handle in handles { try await handle.waitUntilFinished() }
    let begun = order.withLock { $0 }
    #expect(begun == [0, 1, 3])
  }

  @Test func `an action that raises the maximum of a limit does not overtake the actions that wait for the limit`()
    async throws
  {
    let stack = try ConnectStack.started()
    func execute(_ script: MockScript, maximum: Int) throws -> AnyActionHandle {
      try stack.connect.execute(
        MockGenericAction(script: script), options: ActionOptions(limit: ConcurrencyLimit("host", maximum)))
    }
    let scripts = (0..<2).map { _ in MockScript(waits: true) }
    let running = try execute(scripts[0], maximum: 1)
    await scripts[0].untilBegun()
    let waiting = try execute(scripts[1], maximum: 1)
    #expect(waiting.state == .pending)
    let later = try execute(MockScript(), maximum: 2)
    await scripts[1].untilBegun()
    #expect([running, waiting, later].map(\.state) == [.executing, .executing, .pending])
    let last = try execute(MockScript(), maximum: 4)
    for handle in [later, last] { try await handle.waitUntilFinished() }
    #expect([running, waiting].map(\.state) == [.executing, .executing])
    for script in scripts { script.release() }
    for handle in [running, waiting] { try await handle.waitUntilFinished() }
  }

  @Test func `a further attempt of an action leaves the maximum that a later action has set for the limit`()
    async throws
  {
    let stack = try ConnectStack.started()
    func options(maximum: Int) -> ActionOptions {
      let retry = RetryPolicy(initialDelay: .zero) { _ in true }
      return ActionOptions(limit: ConcurrencyLimit("host", maximum), retry: retry)
    }
    let gate = TaskGate()
    let attempts = Mutex(0)
    let failing = TaskAction<Void> {
      let attempt = attempts.withLock { count in
        count += 1
        return count
      }
      guard attempt == 1 else { return }
      await gate.pass()
      throw MockError()
    }
    let first = try stack.connect.execute(failing, options: options(maximum: 1))
    let script = MockScript(waits: true)
    let later = try stack.connect.execute(MockGenericAction(script: script), options: options(maximum: 2))
    await script.untilBegun()
    gate.open()
    try await first.value
    #expect(later.state == .executing)
    script.release()
    try await later.value
  }

  @Test func `the maximum of simultaneous generic actions is an option of the Connect`() async throws {
    let stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 2))
    let scripts = (0..<3).map { _ in MockScript(waits: true) }
    let handles = try scripts.map { try stack.connect.execute(MockGenericAction(script: $0)) }
    for script in scripts.prefix(2) { await script.untilBegun() }
    #expect(handles.map(\.state) == [.executing, .executing, .pending])
    for script in scripts { script.release() }
    for handle in handles { try await handle.value }
  }

  @Test func `a maximum of generic actions below one counts as one`() async throws {
    var options = ConnectOptions()
    options.maximumConcurrentGenericActions = -3
    let stack = try ConnectStack.started(options: options)
    try await stack.connect.execute(MockGenericAction()).value
  }
}
