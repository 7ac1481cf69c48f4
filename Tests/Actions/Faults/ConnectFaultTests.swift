import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import Testing
import TestSupport

/// The faults of the Connect in Coherence 5. Each test is named after the fault and checks that it is fixed.
@Suite("Faults of a Connect")
struct ConnectFaultTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }
  private var stores: [any PersistentStore] { connect.persistentStoreCoordinator.persistentStores }

  init() throws { stack = try ConnectStack() }

  private func save(_ id: Int64) -> ClosureAction<ConnectEntity1> {
    ClosureAction(ConnectEntity1.self) { context in
      try context.performAndWait {
        context.insert(ConnectEntity1.make(id, "\(id)"))
        try context.save()
      }
    }
  }

  /// An action that saves when a script lets it continue.
  private func lateSave(after script: MockScript) -> ClosureAction<ConnectEntity1> {
    ClosureAction(ConnectEntity1.self) { context in
      try script.run()
      try context.performAndWait {
        context.insert(ConnectEntity1.make(1, "late"))
        try context.save()
      }
    }
  }

  // MARK: Stores

  @Test func `fault: a failed attach of several stores leaves some attached`() throws {
    let good = StoreConfiguration(fileName: "good.sqlite")
    let bad = StoreConfiguration(fileName: "bad.sqlite")
    try FileManager.default.createDirectory(at: stack.directory.url, withIntermediateDirectories: true)
    try Data(repeating: 7, count: 8192).write(to: stack.directory.url.appendingPathComponent("bad.sqlite"))
    #expect(throws: CoherenceError.self) { try connect.attachPersistentStores(for: [good, bad]) }
    #expect(stores.isEmpty)
    try connect.start()
    #expect(stores.map { $0.url?.lastPathComponent } == ["Connect.sqlite"])
  }

  @Test func `fault: a failed detach of several stores leaves some detached`() throws {
    let mine = try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let other = try ConnectStack.started()
    let foreign = try #require(other.connect.persistentStoreCoordinator.persistentStores.first)
    try connect.start()
    #expect { try connect.detach(persistentStores: [mine, foreign]) } throws: { ErrorCode.storeDetached ~= $0 }
    #expect(stores.count == 1)
    #expect(connect.isManaged(try stack.entity("ConnectEntity1")))
  }

  @Test func `fault: a start after a stop does not attach the stores again`() throws {
    try connect.attachPersistentStore(for: StoreConfiguration(fileName: "mine.sqlite"))
    try connect.start()
    try connect.stop()
    try connect.start()
    #expect(stores.map { $0.url?.lastPathComponent } == ["mine.sqlite"])
  }

  @Test func `fault: an unknown configuration is accepted without a warning`() throws {
    let store = try connect.attachPersistentStore(for: StoreConfiguration(name: "Unknown"))
    #expect(store.configurationName == "Unknown")
    try connect.start()
    #expect(!connect.isManaged(try stack.entity("ConnectEntity1")))
  }

  @Test func `fault: an empty list of configurations has two meanings`() throws {
    #expect(try connect.attachPersistentStores(for: []).count == 1)
    let registry = StoreRegistry()
    try registry.register(.sqlite)
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Container", managedObjectModel: ConnectModels.main, storeLocation: stack.directory.url,
      registry: registry)
    #expect(try container.attachPersistentStores(for: []).count == 1)
  }

  // MARK: Stopping and detaching

  @Test func `fault: a stop closes the stores of running actions`() async throws {
    try connect.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    try await connect.start()
    let script = MockScript(waits: true, ignoresCancel: true)
    let running = try connect.execute(lateSave(after: script))
    let waiting = try connect.execute(save(2))
    await script.untilBegun()
    async let stopping: Void = connect.stop()
    try await waiting.waitUntilFinished()
    script.release()
    try await stopping
    #expect(running.error == nil && waiting.statistics.attempts == 0)
    try await connect.start()
    #expect(try stack.strings() == [1: "late"])
  }

  @Test func `fault: a detach closes the stores of running actions`() async throws {
    let store = try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let script = MockScript(waits: true, ignoresCancel: true)
    let running = try connect.execute(lateSave(after: script))
    let waiting = try connect.execute(save(2))
    await script.untilBegun()
    async let detaching: Void = connect.detach(persistentStore: store)
    try await waiting.waitUntilFinished()
    #expect(stores.count == 1)
    script.release()
    try await detaching
    #expect(running.error == nil && running.statistics.contextStatistics?.inserts == 1)
    #expect(stores.isEmpty)
  }

  // MARK: Queues

  @Test func `fault: actions on entities of one hierarchy run at once`() async throws {
    let stack = try ConnectStack.started(try HierarchyModel.make())
    let parent = MockScript(waits: true)
    try stack.connect.execute(ClosureAction(ManagedObject.self, entityName: "Parent") { _ in try parent.run() })
    let child = try stack.connect.execute(ClosureAction(ManagedObject.self, entityName: "Child") { _ in })
    await parent.untilBegun()
    #expect(child.state == .pending)
    parent.release()
    try await child.value
  }

  @Test func `fault: an entity that becomes managed again has two queues`() async throws {
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let script = MockScript(waits: true, ignoresCancel: true)
    try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    async let detaching: Void = connect.detach(persistentStores: stores)
    let entity = try stack.entity("ConnectEntity1")
    while connect.isManaged(entity) { await Task.yield() }
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let next = try connect.execute(save(1))
    #expect(next.state == .pending)
    script.release()
    try await next.value
    try await detaching
    #expect(connect.isManaged(entity))
  }

  @Test func `fault: an entity that another store holds loses its queue`() async throws {
    let first = try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let script = MockScript(waits: true)
    let running = try connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    let waiting = try connect.execute(MockEntityAction<ConnectEntity1>())
    await script.untilBegun()
    try await connect.detach(persistentStore: first)
    #expect(running.state == .executing && waiting.state == .pending)
    script.release()
    try await waiting.value
  }

  @Test func `fault: actions on an entity that becomes managed during a suspension run`() async throws {
    connect.suspended = true
    try await connect.start()
    let first = try connect.execute(MockEntityAction<ConnectEntity1>())
    try await connect.stop()
    try await connect.start()
    let second = try connect.execute(MockEntityAction<ConnectEntity1>())
    #expect(first.completionStatus == .canceled && second.state == .pending)
    connect.suspended = false
    try await second.value
  }

  @Test func `fault: a single hierarchy cannot be suspended`() async throws {
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let entity = try stack.entity("ConnectEntity1")
    connect.setSuspended(true, for: entity)
    let held = try connect.execute(MockEntityAction<ConnectEntity1>())
    try await connect.execute(MockEntityAction<ConnectEntity2>()).value
    #expect(connect.isSuspended(entity) && !connect.suspended && held.state == .pending)
    connect.suspended = true
    connect.setSuspended(false, for: entity)
    #expect(held.state == .pending)
    connect.suspended = false
    try await held.value
  }

  // MARK: Entities

  @Test func `fault: inheritance of uniqueness attributes depends on the order of entities`() throws {
    let parent = Entity("Parent", isAbstract: true, userInfo: ["uniquenessAttributes": "id"]) {
      Attribute("id", .int64, optional: true)
    }
    let child = Entity("Child", parent: "Parent")
    for entities in [[parent, child], [child, parent]] {
      let model = try ManagedObjectModel(entities: entities, configurations: ["Children": ["Child"]])
      let stack = try ConnectStack(model)
      try stack.connect.attachPersistentStore(for: StoreConfiguration(name: "Children", type: .inMemory))
      try stack.connect.start()
      #expect(stack.connect.isManaged(try stack.entity("Child")))
      #expect(stack.connect.uniquenessAttributes(for: try stack.entity("Child")) == ["id"])
    }
  }

  @Test func `fault: entities managed by one Connect are managed by every Connect of the model`() throws {
    let other = try ConnectStack.started().connect
    let entity = try stack.entity("ConnectEntity1")
    #expect(other.isManaged(entity) && !connect.isManaged(entity))
    try connect.start()
    try other.stop()
    #expect(connect.isManaged(entity) && !other.isManaged(entity))
  }

  @Test func `fault: an entity is found only under the name of its class`() async throws {
    let model = try ManagedObjectModel {
      Entity("Album", class: ConnectEntity1.self, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64, optional: true)
      }
      Entity("Plain", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64, optional: true) }
    }
    let connect = try ConnectStack.started(model).connect
    try await connect.execute(MockEntityAction<ConnectEntity1>()).value
    try await connect.execute(ClosureAction(ManagedObject.self, entityName: "Plain") { _ in }).value
  }

  // MARK: The rest

  @Test func `fault: a submission waits for the opening of stores`() async throws {
    let slow = SlowFactory()
    let stack = try ConnectStack.started()
    let connect = stack.connect
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    // On a thread of its own: the call blocks until the action has run.
    DispatchQueue(label: "attach").async {
      let type = StoreType("Slow", factory: slow)
      #expect(throws: CoherenceError.self) { try connect.attachPersistentStore(for: StoreConfiguration(type: type)) }
      continuation.finish()
    }
    await slow.untilOpening()
    try await connect.execute(MockEntityAction<ConnectEntity1>()).value
    #expect(!connect.suspended && connect.state == .started)
    slow.release()
    for await _ in stream {}
  }

  @Test func `fault: a generic action runs before the start`() async throws {
    let script = MockScript()
    let handles = try (0..<3).map { _ in try connect.execute(MockGenericAction(script: script)) }
    let canceled = try connect.execute(MockGenericAction(script: script))
    canceled.cancel()
    try await canceled.waitUntilFinished()
    #expect(handles.allSatisfy { $0.state == .pending } && script.runCount == 0)
    try await connect.start()
    for handle in handles { try await handle.value }
    #expect(script.runCount == 3)
  }

  @Test func `fault: errors without a caller are reported twice and out of order`() async {
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let connect = TestConnect(
      name: "Errors", managedObjectModel: ConnectModels.main, storeLocation: stack.directory.url,
      asyncErrorBlock: { continuation.yield(($0 as? NumberedError)?.number ?? -1) })
    for number in 0..<100 { connect.errorHandler(NumberedError(number: number)) }
    var numbers: [Int] = []
    for await number in stream {
      numbers.append(number)
      if numbers.count == 100 { break }
    }
    #expect(numbers == Array(0..<100))
  }

  private struct NumberedError: Error { let number: Int }
}
