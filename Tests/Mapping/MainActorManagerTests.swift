import CoherenceCore
import CoherenceMapping
import Dispatch
import Synchronization
import Testing
import TestSupport

/// The manager on the main actor after a suspension, when changing threads serve the main queue.
@MainActor @Suite("The manager on the main actor")
struct MainActorManagerTests {
  @Test(arguments: Backend.available)
  func `a child of the main context is saved up to the store by saveChangesAndWait`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.manager.mainContext)
    await Task.yield()
    try inline {
      try child.performAndWait {
        // A thread that serves the main queue without knowing it would deadlock below.
        try #require(ManagedObjectContext.isOnMain)
        try GroceryRecord(context: child).fromModel(.banana)
      }
      try child.saveChangesAndWait()
    }
    #expect(try inline { try stack.makeStranger().fetchModels(entity: GroceryRecord.self) } == [.banana])
  }

  @Test(arguments: Backend.available)
  func `models are saved through a child of the main context`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.manager.mainContext)
    await Task.yield()
    try inline {
      try child.performAndWait { try #require(ManagedObjectContext.isOnMain) }
      try stack.manager.save(
        entity: GroceryRecord.self, models: [.banana, .mango], shouldOverwrite: false, context: child)
    }
    #expect(try inline { try Set(stack.makeStranger().fetchModels(entity: GroceryRecord.self)) } == [.banana, .mango])
  }

  @Test(arguments: Backend.available)
  func `an object of the main context shows the save of a thread's context`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    try inline { try stack.insert(GroceryRecord.self, [.mango]) }
    let kept: [GroceryRecord] = try inline { try manager.fetchRecords() }
    try onThread {
      let context = manager.contextForThread()
      try context.performAndWait {
        try context.fetch(FetchRequest(GroceryRecord.self)).first?.points = 7
        try context.save()
      }
    }
    // The turn of the main actor, which shows one moment, ends.
    await Task.yield()
    #expect(try inline { try manager.count(entity: GroceryRecord.self) } == 1)
    #expect(kept.map(\.points) == [7])
  }

  @Test func `executeOnMain runs its block immediately on the main actor before any context exists`() async {
    await #expect(processExitsWith: .success) {
      ProcessLimit.begin()
      await MainActor.run {
        let hasRun = Mutex(false)
        DispatchQueue.executeOnMain { hasRun.withLock { $0 = true } }
        #expect(hasRun.withLock { $0 })
      }
      let hasRunInBlock = await withCheckedContinuation { continuation in
        DispatchQueue.main.async {
          let hasRun = Mutex(false)
          DispatchQueue.executeOnMain { hasRun.withLock { $0 = true } }
          continuation.resume(returning: hasRun.withLock { $0 })
        }
      }
      #expect(hasRunInBlock)
    }
  }
}
