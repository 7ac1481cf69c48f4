import CoherenceCore
import Dispatch
import Synchronization
import Testing

/// "Main" is isolation to the main actor, independent of the thread and of the queue that the thread has entered.
@Suite struct MainIsolationTests {
  @MainActor @Test func `on the main actor a child of the view saves by performAndWait after a suspension`()
    async throws
  {
    let (view, child) = try Self.contexts()
    // From the first suspension on, changing threads serve the main queue.
    await Task.yield()
    try Self.insertAndSave(in: child)
    #expect(view.insertedObjects.count == 1)
  }

  @MainActor @Test func `a grandchild of the view saves up to the store`() async throws {
    let (view, child) = try Self.contexts()
    let grandchild = ManagedObjectContext(concurrencyType: .privateQueue, parent: child)
    await Task.yield()
    try Self.insertAndSave(in: grandchild)
    try child.performAndWait { try child.save() }
    try view.save()
    #expect(try view.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) == 1)
  }

  @MainActor @Test func `the view is entered from within another context's block`() async throws {
    let (view, _) = try Self.contexts()
    let background = ManagedObjectContext(
      concurrencyType: .privateQueue, coordinator: try #require(view.persistentStoreCoordinator))
    await Task.yield()
    let name = try background.performAndWait {
      try #require(ManagedObjectContext.isOnMain)
      return try view.performAndWait {
        try view.insertNewObject(forEntityName: "Thing").value(for: "name", as: String.self)
      }
    }
    #expect(name == "unnamed")
  }

  @MainActor @Test func `an object of the view is used within another context's block`() async throws {
    let (view, child) = try Self.contexts()
    await Task.yield()
    let thing = try view.insertNewObject(forEntityName: "Thing")
    try child.performAndWait {
      try #require(ManagedObjectContext.isOnMain)
      try thing.setValue("seen", for: "name")
    }
    #expect(try thing.value(for: "name", as: String.self) == "seen")
  }

  @Test func `a plain block of the main queue is on main in the contexts that it enters`() async throws {
    let (view, child) = try Self.contexts()
    let outcome = await withCheckedContinuation { continuation in
      DispatchQueue.main.async { continuation.resume(returning: Result { try Self.insertAndSave(in: child) }) }
    }
    try outcome.get()
    #expect(try await view.perform { view.insertedObjects.count } == 1)
  }

  @Test func `a block that a thread has run on main is on main in the contexts that it enters`() async throws {
    let (view, child) = try Self.contexts()
    let outcome = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: Result { try view.performAndWait { try Self.insertAndSave(in: child) } })
      }
    }
    try outcome.get()
  }

  @Test func `a block of perform on the view is on main in the contexts that it enters`() async throws {
    let (view, child) = try Self.contexts()
    try await view.perform {
      MainActor.assertIsolated()
      try Self.insertAndSave(in: child)
    }
  }

  @Test func `an actor on the view's executor is on main in the contexts that it enters`() async throws {
    let (view, child) = try Self.contexts()
    try await Resident(context: view).save(child)
  }

  @MainActor @Test func `a block of perform on a private queue is not on main, even if main awaits it`() async throws {
    let (_, child) = try Self.contexts()
    #expect(try await !child.perform { ManagedObjectContext.isOnMain })
    #expect(ManagedObjectContext.isOnMain)
    await Task.detached { #expect(!ManagedObjectContext.isOnMain) }.value
  }

  @Test func `before any context is made, the main actor and the main queue are on main`() async {
    await #expect(processExitsWith: .success) {
      ProcessLimit.begin()
      await MainActor.run { #expect(ManagedObjectContext.isOnMain) }
      let isOnMain = await withCheckedContinuation { continuation in
        DispatchQueue.main.async { continuation.resume(returning: ManagedObjectContext.isOnMain) }
      }
      #expect(isOnMain)
      #expect(!ManagedObjectContext.isOnMain)
    }
  }

  /// An actor that lives on a context.
  private actor Resident {
    private let context: ManagedObjectContext
    nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }

    init(context: ManagedObjectContext) { self.context = context }

    func save(_ child: ManagedObjectContext) throws { try MainIsolationTests.insertAndSave(in: child) }
  }

  /// Inserts an object in a child of the view and saves it into the view.
  private static func insertAndSave(in child: ManagedObjectContext) throws {
    try child.performAndWait {
      // A thread that holds the main queue and does not know it would wait for itself below.
      try #require(ManagedObjectContext.isOnMain)
      _ = try child.insertNewObject(forEntityName: "Thing")
      try child.save()
    }
  }

  /// A main-queue context on a store in memory, and a child of it.
  private static func contexts() throws -> (view: ManagedObjectContext, child: ManagedObjectContext) {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string, default: "unnamed") } }
    let view = ManagedObjectContext(
      concurrencyType: .mainQueue, coordinator: try PersistentStoreCoordinator(inMemory: model))
    return (view, ManagedObjectContext(concurrencyType: .privateQueue, parent: view))
  }
}
