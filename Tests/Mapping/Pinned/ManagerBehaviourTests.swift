import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Managers, their contexts, loading and destroying")
struct ManagerBehaviourTests {
  @Test func `a manager and its container have the name of the model`() throws {
    let name = "Model \(UUID().uuidString)"
    let model = try ManagedObjectModel(name: name, entities: [Entity("Thing")])
    try model.register()
    let manager = PersistenceManager(modelName: name)
    #expect(manager.modelName == name && manager.container.name == name)
    #expect(manager.container.managedObjectModel === model && !manager.isLoaded)
  }

  @Test func `the main context belongs to the main actor, and each worker context has its own queue`() throws {
    let manager = try MappingStack(isLoaded: false).manager
    #expect(manager.mainContext.concurrencyType == .mainQueue && manager.mainContext === manager.mainContext)
    #expect(manager.workerContext.concurrencyType == .privateQueue)
    #expect(manager.workerContext !== manager.workerContext)
  }

  @Test func `all contexts have the manager's merge policy`() throws {
    let asked = Mutex(0)
    let policy = MergePolicy.custom { conflict in
      asked.withLock { $0 += 1 }
      return conflict.mine?.values
    }
    let stack = try MappingStack(mergePolicy: policy)
    try stack.insert(GroceryRecord.self, [.banana])
    // No context of the test follows this context.
    let stranger = try stack.makeStranger()
    for context in [stack.manager.workerContext, stack.manager.contextForThread()] {
      try context.performAndWait {
        let record = try #require(context.fetch(FetchRequest(GroceryRecord.self)).first)
        record.points += 1
        let product = GroceryProduct(id: "1", name: UUID().uuidString)
        try stranger.save(entity: GroceryRecord.self, models: [product], shouldOverwrite: false)
        try context.save()
      }
    }
    #expect(asked.withLock { $0 } == 2)
  }

  @Test func `contextForThread returns one context for each thread`() throws {
    let manager = try MappingStack().manager
    let contexts = try onThread { [manager.contextForThread(), manager.contextForThread()] }
    #expect(contexts[0] === contexts[1] && contexts[0] !== manager.mainContext)
    #expect(contexts[0].concurrencyType == .currentThread)
    #expect(try onThread { manager.contextForThread() } !== contexts[0])
  }

  @MainActor @Test func `contextForThread returns the main context on the main actor`() throws {
    let manager = try MappingStack().manager
    #expect(inline { manager.contextForThread() } === manager.mainContext)
  }

  @Test(arguments: Backend.available)
  func `loading calls its completion on the main queue, with false for a loaded manager`(
    backend: Backend
  ) async throws {
    let stack = try MappingStack(backend, isLoaded: false)
    for expected in [true, false] {
      let isLoaded = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          stack.manager.load { isLoaded in
            dispatchPrecondition(condition: .onQueue(.main))
            continuation.resume(returning: isLoaded)
          }
        }
      }
      #expect(isLoaded == expected)
    }
    try inline { try stack.insert(GroceryRecord.self, GroceryProduct.four) }
  }

  @Test(arguments: Backend.available)
  func `a destroyed store is empty and can be used immediately`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    try inline { try stack.insert(GroceryRecord.self, GroceryProduct.four) }
    let isDone = try await withCheckedThrowingContinuation { continuation in
      do {
        try stack.manager.destroy { continuation.resume(returning: $0) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
    #expect(isDone)
    #expect(try inline { try stack.products() } == [])
    try inline { try stack.insert(GroceryRecord.self, [.lime]) }
    #expect(try inline { try stack.products() } == [.lime])
  }
}
