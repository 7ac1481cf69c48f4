import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import Testing
import TestSupport

/// The faults of strategies in Coherence 5. Each test is named after the fault and checks that it is fixed.
@MainActor
@Suite("Faults of strategies", .serialized)
struct StrategyFaultTests {
  /// Blocks the main thread until work on another thread has ended.
  private func blockingMain<T: Sendable>(_ work: @escaping @Sendable () throws -> T) throws -> T {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result<T, any Error>?>(nil)
    DispatchQueue(label: "fault").async {
      let outcome = Result { try work() }
      result.withLock { $0 = outcome }
      done.signal()
    }
    try #require(done.wait(timeout: .now() + 60) == .success, "The work waits for the main thread.")
    return try #require(result.withLock { $0 }).get()
  }

  // MARK: The view

  @Test(arguments: [StrategyKind.indirectNested, .mixed], Backend.available)
  func `fault: a save of the view reaches only the root context and is lost`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let user = try ContainerUser.insert(named: "ada", into: stack.view)
    try stack.view.save()
    let stranger = try stack.makeStranger()
    let context = stranger.newBackgroundContext()
    let names = try context.performAndWait { try context.fetch(FetchRequest(ContainerUser.self)).map(\.userName) }
    #expect(names == ["ada"])
    #expect(!user.objectID.isTemporaryID)
  }

  @Test(arguments: StrategyKind.allCases)
  func `fault: a background save commits unsaved edits of the view, and fails when they are invalid`(
    strategy: StrategyKind
  ) throws {
    let stack = try Stack(strategy, on: .sqlite)
    let known = try stack.saveUser(named: "ada")
    try stack.view.user(known).userName = "edited"
    try ContainerUser(context: stack.view).setValue(nil, for: "userName")
    let saved = try stack.saveUser(named: "grace")
    #expect(try stack.storedName(of: saved) == "grace" && stack.storedName(of: known) == "ada")
  }

  @Test(arguments: [StrategyKind.indirectNested, .mixed], Backend.available)
  func `fault: after a conflict every save of the root context fails, and edits of the view are lost`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let (contested, other) = (try stack.saveUser(named: "ada"), try stack.saveUser(named: "grace"))
    try stack.view.user(contested).userName = "mine"
    let stranger = try stack.makeStranger()
    let id = try #require(stranger.persistentStoreCoordinator.objectID(forDescription: contested.description))
    try Stack.change(id, in: stranger) { $0.userName = "theirs" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    stack.view.rollback()
    try stack.view.user(other).userName = "hopper"
    try stack.view.save()
    try stack.view.user(contested).userName = "mine after all"
    try stack.view.save()
    #expect(try stack.storedName(of: other) == "hopper")
    #expect(try stack.storedName(of: contested) == "mine after all")
  }

  @Test func `fault: the view of independent contexts cannot be refreshed`() async throws {
    let stack = try Stack(.directIndependent, on: .sqlite)
    let id = try stack.saveUser(named: "ada")
    let shown = try stack.view.user(id)
    let background = stack.container.newBackgroundContext()
    let saves = background.didSaveChanges
    try background.performAndWait {
      try background.user(id).userName = "grace"
      try background.save()
    }
    for await changes in saves {
      #expect(changes.updatedIDs == [id])
      stack.view.mergeChanges(fromContextDidSave: changes)
      break
    }
    #expect(try stack.view.user(id).userName == "grace")
    try stack.change(id) { $0.userName = "hedy" }
    stack.view.refreshAll()
    #expect(shown.userName == "hedy")
  }

  // MARK: Background contexts

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `fault: a background save waits for the main queue, and writes the stores there`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try blockingMain { try stack.saveUser(named: "ada") }
    #expect(try stack.view.user(id).userName == "ada")
  }

  @Test(arguments: Backend.available)
  func `fault: nested contexts read on the main queue, have no policy of their own, and only temporary identifiers`(
    backend: Backend
  ) throws {
    let stack = try Stack(.indirectNested, on: backend)
    let id = try stack.saveUser(named: "ada")
    let stranger = try stack.makeStranger()
    let fresh = try blockingMain {
      let context = stack.container.newBackgroundContext()
      context.mergePolicy = .objectTrumps
      return try context.performAndWait {
        let user = try context.user(id)
        user.userName = "mine"
        let foreign = try #require(stranger.persistentStoreCoordinator.objectID(forDescription: id.description))
        try Stack.change(foreign, in: stranger) { $0.userName = "theirs" }
        let fresh = try ContainerUser.insert(named: "grace", into: context)
        try context.save()
        return fresh.objectID
      }
    }
    #expect(!fresh.isTemporaryID)
    #expect(try stack.storedName(of: id) == "mine" && stack.storedName(of: fresh) == "grace")
  }

  @Test(arguments: StrategyKind.allCases)
  func `fault: a background context retains its strategy, and fails on closed stores`(
    strategy: StrategyKind
  ) throws {
    var stack: Stack? = try Stack(strategy, on: .sqlite)
    weak let container = stack?.container
    let context = try #require(stack?.container.newBackgroundContext())
    stack = nil
    #expect(container == nil)
    #expect(throws: CoherenceError.self) {
      try context.performAndWait { try context.fetch(FetchRequest(ContainerUser.self)) }
    }
  }

  @Test(arguments: StrategyKind.allCases)
  func `fault: notifications of a save contain objects of another context`(strategy: StrategyKind) throws {
    let stack = try Stack(strategy, on: .inMemory)
    let background = stack.container.newBackgroundContext()
    let told = Mutex<[ManagedObjectID]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: background, queue: nil
    ) { notification in
      // Identifiers only: objects of the saving context must not be used here.
      let changes = notification.userInfo?[ManagedObjectContext.NotificationKey.changes] as? ChangeSet
      told.withLock { $0 += changes?.insertedIDs ?? [] }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let id = try background.performAndWait {
      let user = try ContainerUser.insert(named: "ada", into: background)
      try background.save()
      return user.objectID
    }
    #expect(told.withLock { $0 } == [id])
    if strategy != .directIndependent { #expect(try stack.view.user(id).userName == "ada") }
  }

  // MARK: Extension

  @Test func `fault: strategies, containers and contexts of users work only inside of the framework`() throws {
    let directory = TemporaryDirectory()
    let container = OwnContainer(
      name: "Own", managedObjectModel: ContainerModels.users, storeLocation: directory.url)
    try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    let context: OwnContext = container.newGenericBackgroundContext()
    let id = try context.performAndWait {
      let user = try ContainerUser.insert(named: "ada", into: context)
      try context.save()
      return user.objectID
    }
    #expect(try container.viewContext.user(id).userName == "ada")
  }
}

/// A strategy that makes its contexts with the properties of the base class.
private final class OwnStrategy: ContextStrategy, ContextStrategyType {
  private(set) lazy var viewContext = ManagedObjectContext(
    concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)

  func newBackgroundContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }
}

private final class OwnContainer: GenericPersistentContainer<OwnStrategy>, @unchecked Sendable {
  // Sendable: as the base class is; it adds nothing.
}

private final class OwnContext: BackgroundContext, @unchecked Sendable {
  // Sendable: as the base class is; it adds nothing.
}
