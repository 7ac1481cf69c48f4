import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Testing
import TestSupport

@Suite("Starting and stopping a Connect")
struct ConnectStateTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }
  private var stores: [any PersistentStore] { connect.persistentStoreCoordinator.persistentStores }

  init() throws { stack = try ConnectStack() }

  @Test func `a start without stores attaches the default store once`() throws {
    try connect.start()
    #expect(stores.count == 1)
    #expect(stack.directory.has("Connect.sqlite"))
    try connect.start()
    #expect(stores.count == 1)
  }

  @Test func `starting and stopping can be repeated`() throws {
    for _ in 0..<2 {
      try connect.start()
      #expect(stores.count == 1)
      try connect.stop()
      #expect(stores.isEmpty)
    }
    try connect.stop()
    #expect(stores.isEmpty)
  }

  @Test func `asynchronous start and stop call their blocks`() async throws {
    let started = await withCheckedContinuation { continuation in
      connect.start { continuation.resume(returning: $0 == nil) }
    }
    #expect(started)
    #expect(stores.count == 1)
    let stopped = await withCheckedContinuation { continuation in
      connect.stop { continuation.resume(returning: $0 == nil) }
    }
    #expect(stopped)
    #expect(stores.isEmpty)
    try await connect.stop()
  }

  @Test func `a start attaches the stores that the previous stop has detached`() throws {
    try connect.attachPersistentStores(for: [
      StoreConfiguration(fileName: "1.sqlite"), StoreConfiguration(fileName: "2.sqlite"),
    ])
    try connect.start()
    let before = stores.map(\.identifier)
    try connect.stop()
    #expect(stores.isEmpty)
    try connect.start()
    #expect(stores.map(\.identifier) == before)
    try connect.detach(persistentStore: stores[0])
    try connect.stop()
    try connect.start()
    #expect(stores.map(\.identifier) == [before[1]])
  }

  @Test func `a store added to the coordinator is managed, stopped and started like others`() throws {
    let store = try connect.persistentStoreCoordinator.addPersistentStore(type: .inMemory)
    try connect.start()
    #expect(connect.isManaged(try stack.entity("ConnectEntity1")))
    #expect(stores.count == 1 && stores[0] === store)
    try connect.stop()
    #expect(stores.isEmpty)
    try connect.start()
    #expect(stores.count == 1)
    #expect(!stack.directory.has("Connect.sqlite"))
  }

  @Test func `a start does not attach an attached store a second time`() throws {
    try connect.attachPersistentStore()
    try connect.start()
    try connect.stop()
    try connect.attachPersistentStore()
    try connect.start()
    #expect(stores.count == 1)
  }

  @Test(arguments: Backend.availableSQL)
  func `a store attached with other options after a stop is not attached a second time by the start`(
    backend: Backend
  ) throws {
    var configuration = backend.configuration(named: "options")
    let store = try connect.attachPersistentStore(for: configuration)
    try connect.start()
    try connect.stop()
    configuration.options[StoreOption.readOnly] = true
    try connect.attachPersistentStore(for: configuration)
    try connect.start()
    #expect(stores.map(\.identifier) == [store.identifier])
    #expect(stores.map(\.environment.isReadOnly) == [true])
  }

  @Test func `a failed start attaches no store and can be repeated`() throws {
    let good = StoreConfiguration(fileName: "good.sqlite")
    let store = try connect.attachPersistentStore(for: good)
    let other = try connect.attachPersistentStore(for: StoreConfiguration(fileName: "other.sqlite"))
    try connect.start()
    try connect.stop()
    let held = try connect.persistentStoreCoordinator.addPersistentStore(type: .sqlite, at: other.url)
    #expect { try connect.start() } throws: { ErrorCode.storeAttachedTwice ~= $0 }
    #expect(stores.count == 1)
    #expect(!connect.isManaged(try stack.entity("ConnectEntity1")))
    try connect.persistentStoreCoordinator.remove(held)
    try connect.start()
    #expect(Set(stores.map(\.identifier)) == [store.identifier, other.identifier])
  }

  @Test func `a stop cancels waiting actions and waits for running actions`() async throws {
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let script = MockScript(waits: true)
    let waiting = MockScript()
    let first = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    let second = try connect.execute(MockEntityAction<ConnectEntity1>(script: waiting))
    await script.untilBegun()
    try await connect.stop()
    #expect(first.state == .finished && first.completionStatus == .canceled)
    #expect(second.state == .finished && second.completionStatus == .canceled)
    #expect(waiting.runCount == 0)
    #expect(script.cancelCount == 1)
  }

  @Test func `an action that stops its own Connect keeps its stores until its end`() async throws {
    try await connect.start()
    let proxy = try connect.execute(
      ClosureAction(ConnectEntity1.self) { [connect] context in
        try connect.stop()
        #expect(connect.state == .stopping)
        try context.performAndWait {
          context.insert(ConnectEntity1.make(1, "saved after the stop began"))
          try context.save()
        }
      })
    try await proxy.waitUntilFinished()
    #expect(proxy.error == nil)
    try await connect.stop()
    #expect(stores.isEmpty)
    try await connect.start()
    #expect(try stack.strings() == [1: "saved after the stop began"])
  }

  @Test func `detaching the last store of an entity cancels its actions and ends its management`() async throws {
    let store = try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let script = MockScript(waits: true)
    let proxy = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    try await connect.detach(persistentStore: store)
    #expect(proxy.completionStatus == .canceled)
    #expect(!connect.isManaged(try stack.entity("ConnectEntity1")))
  }
}

@Suite("Suspending a Connect")
struct ConnectSuspensionTests {
  @Test func `a new Connect is not suspended`() throws {
    let stack = try ConnectStack()
    #expect(!stack.connect.suspended)
    try stack.connect.start()
    #expect(!stack.connect.suspended)
    stack.connect.suspended = true
    #expect(stack.connect.suspended)
    try stack.connect.stop()
  }

  @Test func `actions of a suspended Connect wait in order until it is resumed`() async throws {
    let stack = try ConnectStack.started()
    let running = MockScript(waits: true)
    let first = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: running))
    await running.untilBegun()
    stack.connect.suspended = true
    let log = OrderLog()
    let waiting = try (0..<5).map { number in
      try stack.connect.execute(ClosureAction(ConnectEntity1.self) { _ in log.enter(number) })
    }
    running.release()
    try await first.waitUntilFinished()
    #expect(waiting.allSatisfy { $0.state == .pending })
    stack.connect.suspended = false
    for proxy in waiting { try await proxy.waitUntilFinished() }
    #expect(log.numbers == Array(0..<5))
  }

  @Test func `actions on entities that become managed during a suspension wait too`() async throws {
    let stack = try ConnectStack()
    stack.connect.suspended = true
    try await stack.connect.start()
    let script = MockScript()
    let proxy = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    #expect(proxy.state == .pending)
    stack.connect.suspended = false
    try await proxy.waitUntilFinished()
    #expect(script.runCount == 1)
  }

  @Test func `a cancelled action of a suspended Connect finishes at once`() async throws {
    let stack = try ConnectStack.started()
    stack.connect.suspended = true
    let script = MockScript()
    let proxy = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    proxy.cancel()
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .canceled)
    #expect(script.runCount == 0)
  }

  @Test func `a suspended Connect runs no action of any kind before it is resumed`()
    async throws
  {
    let clock = ManualClock()
    let stack = try ConnectStack(options: ConnectOptions(clock: clock))
    let connect = stack.connect
    connect.suspended = true
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let script = MockScript()
    let early = try connect.execute(MockGenericAction(script: script))
    try await connect.start()
    let limit = ActionOptions(timeout: .seconds(1), limit: ConcurrencyLimit("host", 1))
    let handles: [AnyActionHandle] = try [
      early, connect.execute(MockEntityAction<ConnectEntity1>(script: script)),
      connect.execute(MockGenericAction(script: script), options: limit),
      connect.execute(TaskAction { try script.run() }, options: limit),
      connect.execute(
        EntityTaskAction { _ in try script.run() }, options: ActionOptions(priority: .high, dependencies: [early])),
    ]
    let canceled = try connect.execute(MockGenericAction(script: script), options: ActionOptions(uniqueKey: "key"))
    canceled.cancel()
    let store = try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.detach(persistentStore: store)
    clock.advance(by: .seconds(60))
    #expect(canceled.state == .finished && handles.allSatisfy { $0.state == .pending })
    #expect(script.runCount == 0)
    connect.suspended = false
    for handle in handles { try await handle.waitUntilFinished() }
    #expect(handles.allSatisfy { $0.completionStatus == .successful })
    #expect(script.runCount == handles.count)
  }

  @Test func `the release of a Connect cancels its waiting actions`() async throws {
    var stack: ConnectStack? = try ConnectStack.started()
    stack?.connect.suspended = true
    let proxy = try #require(try stack?.connect.execute(MockGenericAction()))
    stack = nil
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .canceled)
  }
}
