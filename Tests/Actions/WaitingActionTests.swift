import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Dispatch
import Synchronization
import Testing

@Suite("Actions that wait for actions")
struct WaitingActionTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }
  private let isDeadlock: @Sendable (any Error) -> Bool = { ErrorCode.deadlock ~= $0 }

  init() throws {
    stack = try ConnectStack.started(options: ConnectOptions(maximumConcurrentGenericActions: 2))
  }

  @Test func `an action may submit and await another action`() async throws {
    let outer = try connect.execute(
      EntityTaskAction { [connect] _ in try await connect.execute(TaskAction { 3 }).value + 1 })
    #expect(try await outer.value == 4)
  }

  @Test func `an action may await an action that a lane has just taken`() async throws {
    let outer = try connect.execute(
      TaskAction { [connect] in
        for _ in 0..<300 {
          try await connect.execute(MockEntityAction<ConnectEntity1>()).value
          try await connect.execute(EntityTaskAction { _ in }).value
        }
      })
    try await outer.value
  }

  @Test(.timeLimit(.minutes(15)))
  func `an action may await the end of a deep graph of dependencies`() async throws {
    let gate = TaskGate()
    var layer: [AnyActionHandle] = [try connect.execute(EntityTaskAction { _ in await gate.pass() })]
    for _ in 0..<40 {
      let options = ActionOptions(dependencies: layer)
      layer = try (0..<3).map { _ in try connect.execute(MockEntityAction<ConnectEntity1>(), options: options) }
    }
    let last = layer[0]
    let outer = try connect.execute(
      TaskAction {
        gate.open()
        try await last.waitUntilFinished()
      })
    try await outer.value
    #expect(last.completionStatus == .successful)
  }

  @Test func `an action may await the end of a long chain of dependencies`() async throws {
    let gate = TaskGate()
    var last: AnyActionHandle = try connect.execute(EntityTaskAction { _ in await gate.pass() })
    for _ in 0..<3_000 {
      last = try connect.execute(MockEntityAction<ConnectEntity1>(), options: ActionOptions(dependencies: [last]))
    }
    let outer = try connect.execute(
      TaskAction { [last] in
        gate.open()
        try await last.waitUntilFinished()
      })
    try await outer.value
  }

  @Test func `an action of a stopping Connect cannot await an action that waits for the next start`() async throws {
    let (begun, gate) = (TaskGate(), TaskGate())
    let handle = try connect.execute(
      EntityTaskAction { [connect] _ in
        begun.open()
        await gate.pass()
        try await connect.execute(TaskAction {}).value
      })
    await begun.pass()
    let events = connect.events
    async let stopping: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    // The stop has the lock of the stores from the event until new actions wait. The detach waits for the lock.
    try await connect.detach(persistentStores: [])
    gate.open()
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    try await stopping
  }

  @Test func `an action that awaits itself throws`() async throws {
    let handle = try connect.execute(
      TaskAction { try await AnyActionHandle.current?.waitUntilFinished() })
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    #expect(handle.completionStatus == .failed)
  }

  @Test func `an action that submits and awaits an action of its own queue throws, and the other runs`() async throws {
    let runs = Mutex<[ActionHandle<Void>]>([])
    let again = Again(connect: connect) { handle in runs.withLock { $0.append(handle) } }
    let handle = try connect.execute(again)
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    let second = try #require(runs.withLock { $0.first })
    try await second.value
  }

  /// Submits a second action like itself and waits for it.
  private struct Again: AsyncEntityAction {
    typealias ManagedObjectType = ConnectEntity1
    let connect: TestConnect
    var isFirst = true
    let note: @Sendable (ActionHandle<Void>) -> Void

    init(connect: TestConnect, note: @escaping @Sendable (ActionHandle<Void>) -> Void) {
      self.connect = connect
      self.note = note
    }

    func execute(context: ActionContext) async throws {
      guard isFirst else { return }
      var next = self
      next.isFirst = false
      let handle = try connect.execute(next)
      note(handle)
      try await handle.waitUntilFinished()
    }
  }

  @Test func `of two actions that await each other, one throws`() async throws {
    let begun = (TaskGate(), TaskGate())
    let handles = Mutex<[ActionHandle<Void>]>([])
    let partner: @Sendable (Int) -> ActionHandle<Void> = { index in handles.withLock { $0[index] } }
    let one = TaskAction {
      await begun.0.pass()
      try await partner(1).waitUntilFinished()
    }
    let two = TaskAction {
      await begun.1.pass()
      try await partner(0).waitUntilFinished()
    }
    let submitted = try [connect.execute(one), connect.execute(two)]
    handles.withLock { $0 = submitted }
    begun.0.open()
    begun.1.open()
    var refused = 0
    for handle in submitted {
      try await handle.waitUntilFinished()
      if let error = handle.error, isDeadlock(error) { refused += 1 }
    }
    #expect(refused == 1)
  }

  @Test func `an action that awaits an action depending on it throws`() async throws {
    let handle = try connect.execute(
      TaskAction { [connect] in
        let dependencies = AnyActionHandle.current.map { [$0] } ?? []
        try await connect.execute(TaskAction {}, options: ActionOptions(dependencies: dependencies)).value
      })
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
  }

  @Test func `actions that occupy every lane and await an action behind them throw`() async throws {
    connect.suspended = true
    let last = Mutex<ActionHandle<Void>?>(nil)
    let action = TaskAction { try await last.withLock { $0 }?.waitUntilFinished() }
    let waiting = try [connect.execute(action), connect.execute(action)]
    let behind = try connect.execute(TaskAction {})
    last.withLock { $0 = behind }
    connect.suspended = false
    try await behind.value
    for handle in waiting { try await handle.waitUntilFinished() }
    #expect(waiting.contains { $0.error.map(isDeadlock) == true })
  }

  @Test func `actions that hold all slots of a limit and await an action without a slot throw`() async throws {
    let options = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let handle = try connect.execute(
      TaskAction { [connect] in try await connect.execute(TaskAction {}, options: options).value }, options: options)
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
  }

  @Test func `an action that holds the slot of a limit and awaits an action with that limit and a dependency throws`()
    async throws
  {
    let gate = TaskGate()
    let limit = ConcurrencyLimit("host", 1)
    let dependency = try connect.execute(EntityTaskAction { _ in await gate.pass() })
    let handle = try connect.execute(
      TaskAction { [connect] in
        let options = ActionOptions(dependencies: [dependency], limit: limit)
        try await connect.execute(TaskAction {}, options: options).value
      }, options: ActionOptions(limit: limit))
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    gate.open()
    try await dependency.value
  }

  @Test func `an action with a limit may await an action with that limit and a dependency while a slot is free`()
    async throws
  {
    let gate = TaskGate()
    let limit = ConcurrencyLimit("host", 2)
    let dependency = try connect.execute(EntityTaskAction { _ in await gate.pass() })
    let handle = try connect.execute(
      TaskAction { [connect] in
        let options = ActionOptions(dependencies: [dependency], limit: limit)
        let last = try connect.execute(TaskAction {}, options: options)
        gate.open()
        try await last.value
      }, options: ActionOptions(limit: limit))
    try await handle.value
  }

  @Test func `an action that awaits an action whose lowered limit needs its slot released throws`() async throws {
    let script = MockScript(waits: true)
    func options(maximum: Int) -> ActionOptions { ActionOptions(limit: ConcurrencyLimit("host", maximum)) }
    let other = try connect.execute(
      MockEntityAction<ConnectEntity1>(script: script), options: options(maximum: 2))
    await script.untilBegun()
    let lowered = options(maximum: 1)
    let handle = try connect.execute(
      TaskAction { [connect] in
        let last = try connect.execute(TaskAction {}, options: lowered)
        let wait = Task { try await last.waitUntilFinished() }
        // Without a deadlock the cancellation ends the wait.
        wait.cancel()
        try await wait.value
      }, options: options(maximum: 2))
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    script.release()
    try await other.value
  }

  @Test func `an action may await an action of a limit behind an action that waits for its own queue`() async throws {
    let limit = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let (begun, end) = (TaskGate(), TaskGate())
    let script = MockScript(waits: true)
    let holder = try connect.execute(MockGenericAction(script: script), options: limit)
    let awaited = Mutex<AnyActionHandle?>(nil)
    let handle = try connect.execute(
      EntityTaskAction { _ in
        begun.open()
        await end.pass()
        try await awaited.withLock { $0 }?.waitUntilFinished()
      })
    await begun.pass()
    let ahead = try connect.execute(MockEntityAction<ConnectEntity1>(), options: limit)
    let last = try connect.execute(TaskAction {}, options: limit)
    awaited.withLock { $0 = last }
    end.open()
    script.release()
    try await holder.value
    for pending in [handle, ahead, last] as [AnyActionHandle] { try await pending.waitUntilFinished() }
    #expect(handle.error == nil && ahead.error == nil)
  }

  @Test func `an action may await an action of its own queue that another caller is cancelling`() async throws {
    let canceling = MockScript(waits: true)
    let gate = TaskGate()
    let awaited = Mutex<AnyActionHandle?>(nil)
    let handle = try connect.execute(
      EntityTaskAction { _ in
        await gate.pass()
        guard let other = awaited.withLock({ $0 }) else { return }
        let wait = Task { try await other.waitUntilFinished() }
        // Without a deadlock the cancellation ends the wait.
        wait.cancel()
        try await wait.value
      })
    let behind = try connect.execute(SlowlyCanceledAction(canceling: canceling))
    awaited.withLock { $0 = behind }
    // On a thread of its own: the call blocks within the cancellation.
    DispatchQueue(label: "cancel").async { behind.cancel() }
    await canceling.untilBegun()
    gate.open()
    await #expect(throws: CancellationError.self) { try await handle.value }
    canceling.release()
    try await behind.waitUntilFinished()
  }

  /// An action whose cancellation waits.
  private struct SlowlyCanceledAction: EntityAction {
    typealias ManagedObjectType = ConnectEntity1
    let canceling: MockScript
    func execute(context: ActionContext) throws {}
    func cancel() { try? canceling.run() }
  }

  @Test func `an action that awaits an action of its own queue with a dependency in another queue throws`()
    async throws
  {
    let gate = TaskGate()
    let dependency = try connect.execute(TaskAction { await gate.pass() })
    let handle = try connect.execute(
      EntityTaskAction { [connect] _ in
        let options = ActionOptions(dependencies: [dependency])
        try await connect.execute(MockEntityAction<ConnectEntity1>(), options: options).value
      })
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    gate.open()
    try await dependency.value
  }

  @Test func `an action that awaits an action of its own queue before the next attempt of that action throws`()
    async throws
  {
    let retry = RetryPolicy(initialDelay: .seconds(3600), maximumDelay: .seconds(3600)) { _ in true }
    let failing = try connect.execute(
      MockEntityAction<ConnectEntity1>(script: MockScript(fails: true)), options: ActionOptions(retry: retry))
    let handle = try connect.execute(EntityTaskAction { _ in try await failing.waitUntilFinished() })
    await #expect(performing: { try await handle.value }, throws: isDeadlock)
    failing.cancel()
    try await failing.waitUntilFinished()
  }

  @Test func `a task that outlives its action may await an action that depends on the finished action`() async throws {
    let (beginning, end) = (TaskGate(), TaskGate())
    let known = Mutex<Task<Void, any Error>?>(nil)
    let other = try connect.execute(TaskAction { await end.pass() })
    let handle = try connect.execute(
      TaskAction { [connect] in
        guard let handle = AnyActionHandle.current else { return }
        let next = try connect.execute(TaskAction {}, options: ActionOptions(dependencies: [handle, other]))
        let task = Task {
          await beginning.pass()
          try await next.value
        }
        known.withLock { $0 = task }
      })
    try await handle.value
    let task = try #require(known.withLock { $0 })
    // The other dependency has not finished, so that only its cancellation ends the wait.
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    end.open()
    try await other.value
  }

  @Test func `a detached task of an action may await the action`() async throws {
    let outcome = AsyncStream<ActionState>.makeStream()
    let handle = try connect.execute(
      TaskAction {
        guard let handle = AnyActionHandle.current else { return }
        Task.detached {
          try await handle.waitUntilFinished()
          outcome.continuation.yield(handle.state)
        }
      })
    try await handle.value
    for await state in outcome.stream {
      #expect(state == .finished)
      break
    }
  }
}
