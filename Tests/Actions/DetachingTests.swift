import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Synchronization
import Testing
import TestSupport

@testable import CoherenceActions

/// Two entities in stores of their own; the detach of a store waits for an action.
@Suite("Detaching stores while other stores are attached and detached")
struct DetachingTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }
  private var stores: [any PersistentStore] { connect.persistentStoreCoordinator.persistentStores }
  private let script = MockScript(waits: true, ignoresCancel: true)

  init() throws {
    let entities = ["First", "Second"].map { name in
      Entity(name, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) }
    }
    stack = try ConnectStack(
      try ManagedObjectModel(
        entities: entities, configurations: ["Firsts": ["First"], "Seconds": ["Second"]]))
  }

  private func attach(_ name: String) throws -> any PersistentStore {
    try connect.attachPersistentStore(for: StoreConfiguration(name: name, type: .inMemory))
  }

  private func isManaged(_ name: String) throws -> Bool { connect.isManaged(try stack.entity(name)) }

  /// An action on an entity that runs until it is released.
  private func occupy(_ name: String) async throws -> AnyActionHandle {
    let handle = try connect.execute(
      ClosureAction(ManagedObject.self, entityName: name) { [script] _ in try script.run() })
    await script.untilBegun()
    return handle
  }

  private func untilUnmanaged(_ name: String) async throws {
    while try isManaged(name) { await Task.yield() }
  }

  @Test func `attaching a store does not manage the entities of a store during its detachment`() async throws {
    let first = try attach("Firsts")
    try await connect.start()
    let running = try await occupy("First")
    async let detaching: Void = connect.detach(persistentStore: first)
    try await untilUnmanaged("First")
    let second = try attach("Seconds")
    #expect(try !isManaged("First") && isManaged("Second"))
    script.release()
    try await detaching
    #expect(running.error == nil)
    #expect(stores.count == 1 && stores[0] === second)
  }

  @Test func `detaching a store does not manage the entities of another store during its detachment`() async throws {
    let (first, second) = (try attach("Firsts"), try attach("Seconds"))
    try await connect.start()
    _ = try await occupy("First")
    async let detaching: Void = connect.detach(persistentStore: first)
    try await untilUnmanaged("First")
    try await connect.detach(persistentStore: second)
    #expect(try !isManaged("First"))
    #expect(stores.count == 1 && stores[0] === first)
    script.release()
    try await detaching
    #expect(stores.isEmpty)
  }

  @Test func `a store that a stop closes during its detach is not attached by the next start`() async throws {
    let (first, second) = (try attach("Firsts"), try attach("Seconds"))
    try await connect.start()
    _ = try await occupy("First")
    async let detaching: Void = connect.detach(persistentStore: first)
    try await untilUnmanaged("First")
    let events = connect.events
    async let stopping: Void = connect.stop()
    for await case .stateChanged(.stopping) in events { break }
    script.release()
    try await detaching
    try await stopping
    try await connect.start()
    #expect(stores.map(\.configurationName) == [second.configurationName])
  }

  @Test func `a store that a stop has closed can be detached before the next start`() throws {
    let (first, second) = (try attach("Firsts"), try attach("Seconds"))
    try connect.start()
    try connect.stop()
    try connect.detach(persistentStore: first)
    #expect { try connect.detach(persistentStore: first) } throws: { ErrorCode.storeDetached ~= $0 }
    try connect.start()
    #expect(stores.map(\.configurationName) == [second.configurationName])
  }

  @Test func `a store that the next start has opened again is detached by its new object alone`() throws {
    let former = try attach("Firsts")
    try connect.start()
    try connect.stop()
    try connect.start()
    #expect { try connect.detach(persistentStore: former) } throws: { ErrorCode.storeDetached ~= $0 }
    try connect.stop()
    try connect.start()
    let present = try #require(stores.first)
    #expect(present.configurationName == "Firsts")
    try connect.detach(persistentStore: present)
    #expect(stores.isEmpty)
  }

  @Test func `a detach during a draining stop waits for the actions and cancels none`() async throws {
    let store = try attach("Firsts")
    try await connect.start()
    let running = try await occupy("First")
    let waiting = try connect.execute(ClosureAction(ManagedObject.self, entityName: "First") { _ in })
    let events = connect.events
    async let draining: Void = connect.stop(.drain)
    for await case .stateChanged(.stopping) in events { break }
    async let detaching: Void = connect.detach(persistentStore: store)
    script.release()
    try await detaching
    try await draining
    #expect(running.completionStatus == .successful && waiting.completionStatus == .successful)
  }

  @Test func `a refused detach leaves the entities of the store managed`() async throws {
    let store = try attach("Firsts")
    try await connect.start()
    let handle = try connect.execute(
      ClosureAction(ManagedObject.self, entityName: "First") { [connect] _ in
        try connect.detach(persistentStore: store)
      })
    await #expect { try await handle.value } throws: { ErrorCode.deadlock ~= $0 }
    #expect(try isManaged("First"))
    try await connect.detach(persistentStore: store)
    #expect(stores.isEmpty)
  }

  /// Executes an action that detaches a store when the gate opens.
  private func executeDetach(of store: any PersistentStore, after gate: TaskGate) throws -> ActionHandle<Void> {
    try connect.execute(
      TaskAction { [connect] in
        await gate.pass()
        try await connect.detach(persistentStores: [store])
      })
  }

  /// Waits for another action.
  private struct AwaitingAction: AsyncEntityAction {
    typealias ManagedObjectType = ManagedObject
    let entityName: String?
    let awaited: AnyActionHandle
    func execute(context: ActionContext) async throws { try await awaited.waitUntilFinished() }
  }

  @Test func `a detach by an action that an action of the store awaits is refused, and cancels no action`()
    async throws
  {
    let store = try attach("Firsts")
    try await connect.start()
    let gate = TaskGate()
    let caller = try executeDetach(of: store, after: gate)
    let running = try connect.execute(AwaitingAction(entityName: "First", awaited: caller))
    while caller.lifecycle.withLock({ $0.waiters.isEmpty }) { await Task.yield() }
    gate.open()
    await #expect { try await caller.value } throws: { ErrorCode.deadlock ~= $0 }
    try await running.value
    #expect(running.completionStatus == .successful)
    #expect(try stores.count == 1 && isManaged("First"))
  }

  @Test func `a detach by an action cancels the waiting actions that depend on the action`() async throws {
    let store = try attach("Firsts")
    try await connect.start()
    let gate = TaskGate()
    let caller = try executeDetach(of: store, after: gate)
    let waiting = try connect.execute(
      ClosureAction(ManagedObject.self, entityName: "First") { _ in }, options: ActionOptions(dependencies: [caller]))
    gate.open()
    try await caller.value
    #expect(waiting.completionStatus == .canceled && stores.isEmpty)
  }

  private func refuseDetaching(_ stores: [any PersistentStore]) {
    #expect { try connect.detach(persistentStores: stores) } throws: { ErrorCode.storeDetached ~= $0 }
  }

  @Test func `the detach of a store waits for its actions also after it was refused beside a detached store`()
    async throws
  {
    let (first, second) = (try attach("Firsts"), try attach("Seconds"))
    try await connect.start()
    try await connect.detach(persistentStore: second)
    refuseDetaching([first, second])
    await #expect { try await connect.detach(persistentStores: [first, second]) } throws: {
      ErrorCode.storeDetached ~= $0
    }
    #expect(try isManaged("First"))
    _ = try await occupy("First")
    async let detaching: Void = connect.detach(persistentStore: first)
    try await untilUnmanaged("First")
    #expect(stores.count == 1 && stores[0] === first)
    script.release()
    try await detaching
    #expect(stores.isEmpty)
  }

  @Test func `a store that a detach names twice is closed once, and stays managed after a refused detach`()
    async throws
  {
    let store = try attach("Firsts")
    try await connect.start()
    let handle = try connect.execute(
      ClosureAction(ManagedObject.self, entityName: "First") { [connect] _ in
        try connect.detach(persistentStores: [store, store])
      })
    await #expect { try await handle.value } throws: { ErrorCode.deadlock ~= $0 }
    #expect(try isManaged("First"))
    try await connect.detach(persistentStores: [store, store])
    #expect(stores.isEmpty)
  }

  @Test func `a start during the detach of a closed store leaves the store closed, or the detach is refused`()
    async throws
  {
    // Without another store, a start would attach the default store.
    _ = try attach("Seconds")
    for _ in 0..<30 {
      let first = try attach("Firsts")
      try await connect.start()
      try await connect.stop()
      async let starting: Void = connect.start()
      let isDetached = (try? await connect.detach(persistentStore: first)) != nil
      try await starting
      #expect(try isManaged("First") != isDetached)
      let remaining = stores.filter { $0.configurationName == "Firsts" }
      #expect(remaining.isEmpty == isDetached)
      for store in remaining { try await connect.detach(persistentStore: store) }
      try await connect.stop()
    }
  }
}
