import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Dispatch
import Synchronization
import Testing
import TestSupport

@Suite("Stopping while actions are on their way")
struct StoppingTests {
  private let clock = ManualClock()
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }
  private var stores: [any PersistentStore] { connect.persistentStoreCoordinator.persistentStores }

  init() throws { stack = try ConnectStack.started(options: ConnectOptions(clock: clock)) }

  private func insert(_ id: Int64, after script: MockScript = MockScript()) -> ClosureAction<ConnectEntity1> {
    ClosureAction(ConnectEntity1.self) { context in
      try script.run()
      try context.performAndWait {
        _ = try context.merge(
          objects: [ConnectEntity1.make(id, "\(id)")], for: ConnectModels.main.entity(for: ConnectEntity1.self),
          options: MergeOptions(mode: .upsertOnly))
      }
    }
  }

  @Test func `a draining stop lets every accepted action finish before the stores are closed`() async throws {
    let file = try connect.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    for store in stores where store !== file { try await connect.detach(persistentStore: store) }
    let script = MockScript(waits: true)
    let entity = try [insert(1, after: script), insert(2), insert(3)].map { try connect.execute($0) }
    let generic = try (0..<20).map { _ in try connect.execute(MockGenericAction()) }
    await script.untilBegun()
    let events = connect.events
    async let stopping: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    #expect(throws: CoherenceError.self) { try connect.execute(insert(4)) }
    script.release()
    try await stopping
    #expect((entity + generic).allSatisfy { $0.completionStatus == .successful })
    #expect(script.cancelCount == 0)
    #expect(stores.isEmpty)
    try await connect.start()
    #expect(try stack.strings() == [1: "1", 2: "2", 3: "3"])
  }

  @Test func `a cancelling stop runs no waiting action and waits for running actions`() async throws {
    let running = MockScript(waits: true, ignoresCancel: true)
    let waiting = MockScript()
    let first = try connect.execute(MockEntityAction<ConnectEntity1>(script: running))
    let second = try connect.execute(MockEntityAction<ConnectEntity1>(script: waiting))
    await running.untilBegun()
    async let stopping: Void = connect.stop(.cancel)
    try await second.waitUntilFinished()
    #expect(first.state == .executing && !stores.isEmpty)
    running.release()
    try await stopping
    #expect(first.completionStatus == .canceled && second.completionStatus == .canceled)
    #expect(waiting.runCount == 0)
    #expect(stores.isEmpty)
  }

  @Test func `a stop includes generic actions, and later generic actions wait for the next start`() async throws {
    let running = MockScript(waits: true)
    let first = try connect.execute(MockGenericAction(script: running))
    await running.untilBegun()
    try await connect.stop()
    #expect(first.completionStatus == .canceled)
    let later = try (0..<3).map { _ in try connect.execute(MockGenericAction()) }
    #expect(later.allSatisfy { $0.state == .pending })
    try await connect.start()
    for handle in later { try await handle.value }
  }

  @Test func `a stop throws after its time limit, keeps the stores open, and can be joined`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let stopping = Task { [connect] in try await connect.stop(.cancel, within: .seconds(5)) }
    await clock.untilSleeping()
    clock.advance(by: .seconds(5))
    await #expect { try await stopping.value } throws: { ErrorCode.timedOut ~= $0 }
    #expect(connect.state == .stopping)
    #expect(!stores.isEmpty && handle.state == .executing)
    script.release()
    try await connect.stop()
    #expect(connect.state == .stopped && stores.isEmpty)
  }

  @Test func `a cancelling stop during a draining stop cancels the actions`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let events = connect.events
    async let draining: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    try await connect.stop(.cancel)
    try await draining
    #expect(handle.completionStatus == .canceled)
  }

  @Test func `cancelling the task of a draining stop cancels the actions`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let events = connect.events
    let draining = Task { [connect] in try await connect.stop(.drain) }
    for await case .stateChanged(.stopping) in events { break }
    draining.cancel()
    try await draining.value
    #expect(handle.completionStatus == .canceled)
    #expect(connect.state == .stopped)
  }

  @Test func `a draining stop in a cancelled task cancels the actions`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let draining = Task { [connect] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await connect.stop(.drain)
    }
    try await draining.value
    #expect(handle.completionStatus == .canceled)
    #expect(connect.state == .stopped)
  }

  /// Actions with every reason to wait, behind a running action.
  private func waitingForEverything(_ script: MockScript) throws -> [AnyActionHandle] {
    let limit = ActionOptions(limit: ConcurrencyLimit("host", 1))
    let running = try connect.execute(MockEntityAction<ConnectEntity1>(script: script), options: limit)
    let retry = ActionOptions(
      limit: ConcurrencyLimit("other host", 1), retry: RetryPolicy(initialDelay: .seconds(1), jitter: 0))
    let failing = FailsOnce()
    return try [
      running, connect.execute(insert(1)),
      connect.execute(MockGenericAction(), options: ActionOptions(dependencies: [running])),
      connect.execute(MockEntityAction<ConnectEntity1>(), options: limit),
      connect.execute(TaskAction {}, options: limit),
      connect.execute(TaskAction { try failing.run() }, options: retry),
      connect.execute(TaskAction {}, options: ActionOptions(timeout: .seconds(90), uniqueKey: "key")),
    ]
  }

  private final class FailsOnce: Sendable {
    private let runs = Atomic(0)
    func run() throws { if runs.add(1, ordering: .relaxed).oldValue == 0 { throw MockError() } }
  }

  @Test func `a cancelling stop cancels waiting actions for every reason to wait`() async throws {
    let script = MockScript(waits: true)
    let handles = try waitingForEverything(script)
    await script.untilBegun()
    await clock.untilSleeping()
    try await connect.stop(.cancel)
    #expect(handles.dropLast().allSatisfy { $0.completionStatus == .canceled })
    #expect(handles.allSatisfy { $0.state == .finished })
  }

  @Test func `a draining stop runs waiting actions for every reason to wait`() async throws {
    let script = MockScript(waits: true)
    let handles = try waitingForEverything(script)
    await script.untilBegun()
    await clock.untilSleeping()
    let events = connect.events
    async let draining: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    clock.advance(by: .seconds(1))
    script.release()
    try await draining
    #expect(handles.allSatisfy { $0.completionStatus == .successful })
  }

  @Test func `a draining stop of a suspended Connect cancels the waiting actions`() async throws {
    connect.suspended = true
    let handles = try [connect.execute(insert(1)), connect.execute(MockGenericAction())]
    try await connect.stop(.drain)
    #expect(handles.allSatisfy { $0.completionStatus == .canceled })
    #expect(connect.suspended)
  }

  @Test func `suspending during a draining stop cancels the waiting actions`() async throws {
    let script = MockScript(waits: true)
    let running = try connect.execute(insert(1, after: script))
    let waiting = try connect.execute(insert(2))
    await script.untilBegun()
    let events = connect.events
    async let draining: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    connect.suspended = true
    script.release()
    try await draining
    #expect(running.completionStatus == .successful)
    #expect(waiting.completionStatus == .canceled)
  }

  @Test func `a draining stop cancels a suspended action that waits for its next attempt`() async throws {
    let script = MockScript(waits: true, fails: true)
    let handle = try connect.execute(
      MockEntityAction<ConnectEntity1>(script: script), options: ActionOptions(retry: RetryPolicy()))
    await script.untilBegun()
    connect.suspended = true
    let events = connect.events
    async let draining: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    script.release()
    try await draining
    #expect(handle.completionStatus == .canceled && script.runCount == 1)
  }

  @Test func `an action that a stop cancels may still call its Connect`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(
      CancelableAction(script: script) { [connect] in
        _ = try? connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
        script.release()
      })
    await script.untilBegun()
    try await connect.stop()
    #expect(handle.completionStatus == .canceled)
    #expect(stores.isEmpty)
  }

  /// Runs a script, and a closure at its cancellation.
  private struct CancelableAction: GenericAction {
    let script: MockScript
    let whenCanceled: @Sendable () -> Void
    func execute() throws { try script.run() }
    func cancel() { whenCanceled() }
  }

  @Test func `a cancelled action may stop its Connect without waiting for itself`() async throws {
    let script = MockScript(waits: true)
    let waiting = MockScript()
    let running = try connect.execute(
      CancelableEntityAction(script: script) { [connect] in
        try? connect.stop()
        script.release()
      })
    let behind = try connect.execute(CancelableEntityAction(script: waiting) { [connect] in try? connect.stop() })
    await script.untilBegun()
    try await connect.stop(.cancel)
    #expect(running.completionStatus == .canceled && behind.completionStatus == .canceled)
    #expect(waiting.runCount == 0 && connect.state == .stopped)
  }

  @Test func `an action cancelled at its turn in the queue never runs`() async throws {
    connect.suspended = true
    let canceling = MockScript(waits: true)
    let script = MockScript()
    let handle = try connect.execute(
      CancelableEntityAction(script: script) { try? canceling.run() })
    let next = try connect.execute(MockEntityAction<ConnectEntity1>())
    // On a thread of its own: the call blocks within the cancellation.
    DispatchQueue(label: "cancel").async { handle.cancel() }
    await canceling.untilBegun()
    connect.suspended = false
    try await next.value
    #expect(handle.state == .pending && script.runCount == 0)
    canceling.release()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled && script.runCount == 0)
  }

  private struct CancelableEntityAction: EntityAction {
    typealias ManagedObjectType = ConnectEntity1
    let script: MockScript
    let whenCanceled: @Sendable () -> Void
    func execute(context: ActionContext) throws { try script.run() }
    func cancel() { whenCanceled() }
  }

  @Test func `a store attached during a stop is detached by the stop and attached by the next start`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let events = connect.events
    async let stopping: Void = connect.stop()
    for await case .stateChanged(.stopping) in events { break }
    try connect.attachPersistentStore(for: StoreConfiguration(fileName: "late.sqlite"))
    #expect(!connect.isManaged(try stack.entity("ConnectEntity1")))
    script.release()
    try await stopping
    #expect(stores.isEmpty)
    try await connect.start()
    #expect(stores.count == 2)
  }

  @Test func `an action cannot detach a store that it works on`() async throws {
    let store = try #require(stores.first)
    let handle = try connect.execute(
      EntityTaskAction { [connect] _ in try await connect.detach(persistentStore: store) })
    await #expect { try await handle.value } throws: { ErrorCode.deadlock ~= $0 }
    #expect(stores.count == 1)
    #expect(connect.isManaged(try stack.entity("ConnectEntity1")))
  }

  @Test(.timeLimit(.minutes(15)))
  func `an action of another Connect that an action waits for can stop the Connect of that action`() async throws {
    let other = try ConnectStack.started().connect
    let waits = TaskGate()
    let stopper = try other.execute(
      TaskAction { [connect] in
        await waits.pass()
        try await connect.stop(.drain)
      })
    let waiting = try connect.execute(
      TaskAction {
        waits.open()
        try await stopper.waitUntilFinished()
      })
    // The stop may begin before the wait, which then fails.
    _ = await Task { try await waiting.value }.result
    try await stopper.value
    try await connect.stop()
    #expect(stores.isEmpty)
  }

  @Test func `a context that an action has kept throws after its stores are closed`() async throws {
    let handle = try connect.execute(EntityTaskAction { $0 })
    let context = try await handle.value
    try await connect.stop()
    #expect(throws: CoherenceError.self) {
      try context.performAndWait { try context.fetch(FetchRequest(ConnectEntity1.self)) }
    }
  }
}

@Suite("Releasing a Connect while actions run")
struct ConnectReleaseTests {
  @Test func `the release of a Connect cancels waiting actions, and running actions keep the stores`() async throws {
    var stack: ConnectStack? = try ConnectStack.started()
    let coordinator = try #require(stack?.connect.persistentStoreCoordinator)
    let script = MockScript(waits: true, ignoresCancel: true)
    let running = try #require(
      try stack?.connect.execute(
        ClosureAction(ConnectEntity1.self) { context in
          try script.run()
          try context.performAndWait {
            context.insert(ConnectEntity1.make(1, "one"))
            try context.save()
          }
        }))
    let waiting = try #require(try stack?.connect.execute(MockEntityAction<ConnectEntity1>()))
    await script.untilBegun()
    stack = nil
    try await waiting.waitUntilFinished()
    #expect(waiting.completionStatus == .canceled)
    #expect(coordinator.persistentStores.count == 1)
    script.release()
    try await running.waitUntilFinished()
    #expect(running.error == nil)
    #expect(running.completionStatus == .canceled)
    #expect(running.statistics.contextStatistics?.inserts == 1)
  }

  @Test func `the event stream of a released Connect ends`() async throws {
    var stack: ConnectStack? = try ConnectStack.started()
    let events = try #require(stack?.connect.events)
    stack = nil
    for await _ in events {}
  }
}
