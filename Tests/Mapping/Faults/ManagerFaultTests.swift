import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Faults of managers")
struct ManagerFaultTests {
  @Test(arguments: Backend.available)
  func `fault: an empty list of uids fetched all models`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    #expect(try stack.manager.fetchModels(entity: GroceryRecord.self, uids: []) == [])
    #expect(try stack.manager.delete(entity: GroceryRecord.self, uids: []) == 0)
    #expect(try stack.manager.fetchModels(entity: GroceryRecord.self).count == 4)
  }

  @Test(arguments: Backend.available)
  func `fault: models could not be fetched by page, by predicate or in a sort order`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let order = SortInfo(columns: [SortColumn(key: "points", ascending: false)]).descriptors
    let page = try stack.manager.fetchModels(
      entity: GroceryRecord.self, predicate: FetchPredicate(format: "points > 150"), sortDescriptors: order, limit: 2,
      offset: 1)
    #expect(page == [.mango, .banana])
  }

  @Test(arguments: Backend.available)
  func `fault: counting records, and testing for a uid, fetched records`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four + [.banana])
    #expect(try stack.manager.count(entity: GroceryRecord.self) == 5)
    #expect(try stack.manager.count(entity: GroceryRecord.self, predicate: .id("1")) == 2)
    #expect(try stack.manager.exists(entity: GroceryRecord.self, uid: "1"))
    #expect(try !stack.manager.exists(entity: GroceryRecord.self, uid: "x"))
  }

  @Test(arguments: Backend.available)
  func `fault: several calls could not share one transaction`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    struct Abandoned: Error {}
    #expect(throws: Abandoned.self) {
      try stack.manager.transaction { transaction in
        try transaction.delete(entity: GroceryRecord.self, uids: ["1", "2"])
        try transaction.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true)
        #expect(try transaction.fetchModels(entity: GroceryRecord.self).count == 2)
        #expect(try stack.makeStranger().count(entity: GroceryRecord.self) == 4)
        throw Abandoned()
      }
    }
    #expect(try stack.products().count == 4 && stack.manager.count(entity: FruitRecord.self) == 0)
    try stack.manager.transaction { transaction in
      try transaction.deleteModels(entity: GroceryRecord.self, models: [.banana])
      try transaction.delete(entity: GroceryRecord.self, predicate: .id("4"))
      try transaction.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
      let fruits: [FruitRecord] = try transaction.fetchRecords(sortDescriptors: [SortKey("id")])
      #expect(fruits.allSatisfy(\.isUploaded) && fruits.count == 4)
      #expect(try transaction.exists(entity: FruitRecord.self, uid: "4"))
      #expect(try transaction.count(entity: GroceryRecord.self) == 2)
    }
    #expect(try stack.products() == [.blackberry, .durian] && stack.manager.count(entity: FruitRecord.self) == 4)
  }

  @Test func `fault: loading called its completion once for each store, and reported no error`() async throws {
    let told = Mutex<[any Error]>([])
    let directory = TemporaryDirectory()
    let names = ["a", "b", "a"]
    let configurations = names.map { Backend.sqlite.configuration(named: $0) }
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Groceries", managedObjectModel: try MappingStack.groceries(), storeLocation: directory.url,
      asyncErrorBlock: { error in told.withLock { $0.append(error) } })
    let manager = PersistenceManager(container: container, storeConfigurations: configurations)
    // A second call of the completion would resume the continuation twice and trap.
    let isLoaded = await withCheckedContinuation { continuation in
      manager.load { continuation.resume(returning: $0) }
    }
    #expect(!isLoaded && !manager.isLoaded)
    let error = await #expect(throws: CoherenceError.self) { try await manager.load() }
    #expect(error?.code == .storeAttachedTwice)
    let again = #expect(throws: CoherenceError.self) { try inline { try manager.load() } }
    #expect(again?.code == .storeAttachedTwice)
    let two = PersistenceManager(container: container, storeConfigurations: Array(configurations.prefix(2)))
    #expect(
      await withCheckedContinuation { continuation in two.load { continuation.resume(returning: $0) } })
  }

  @Test(arguments: Backend.availableSQL)
  func `fault: destroying before loading destroyed nothing`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let container = stack.manager.container
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    try stack.manager.destroy()
    #expect(try stack.products() == [])
  }

  @Test(arguments: Backend.available)
  func `fault: destroying lost the locations of the stores`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    let store = try #require(stack.manager.container.persistentStoreCoordinator.persistentStores.first)
    try await stack.manager.destroy()
    let fresh = try #require(stack.manager.container.persistentStoreCoordinator.persistentStores.first)
    #expect(fresh.environment.url == store.environment.url && fresh.environment.options == store.environment.options)
    #expect(fresh.type == store.type && fresh !== store)
  }

  @Test func `fault: managers with copies of one model disturbed each other`() throws {
    let stacks = try (0..<3).map { _ in try MappingStack() }
    for (stack, product) in zip(stacks, GroceryProduct.four) {
      try stack.manager.save(entity: GroceryRecord.self, models: [product], shouldOverwrite: true)
    }
    #expect(try stacks.map { try $0.products() } == GroceryProduct.four.prefix(3).map { [$0] })
  }

  @Test func `fault: an unregistered model aborted the process`() throws {
    let name = "Missing \(UUID().uuidString)"
    let manager = PersistenceManager(
      modelName: name, storeConfigurations: [Backend.inMemory.configuration(named: name)])
    let error = #expect(throws: CoherenceError.self) { try manager.load() }
    #expect(error?.code == .modelNotFound)
    #expect(throws: CoherenceError.self) { try manager.fetchModels(entity: GroceryRecord.self) }
    // Loading looks up the model again.
    let declared = Entity("GroceryRecord", class: GroceryRecord.self) {
      Attribute("id", .string)
      Attribute("name", .string)
      Attribute("points", .int64)
      Attribute("details", .string, optional: true)
    }
    try ManagedObjectModel(name: name, entities: [declared]).register()
    try manager.load()
    try manager.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: false)
    #expect(try manager.fetchModels(entity: GroceryRecord.self) == [.banana])
  }

  @Test func `fault: the main context was not available outside the main actor`() throws {
    let manager = try MappingStack().manager
    #expect(try onThread { manager.mainContext } === manager.mainContext)
  }

  @Test func `fault: a released context never called the completion of its save`() async throws {
    let stack = try MappingStack()
    let error = await withCheckedContinuation { continuation in
      var context: ManagedObjectContext? = stack.manager.workerContext
      context?.saveChanges { continuation.resume(returning: $0) }
      context = nil
      withExtendedLifetime(context) {}
    }
    #expect(error == nil)
  }

  @Test func `fault: without changes, only one form of saving saved the parent`() async throws {
    let stack = try MappingStack()
    let parent = stack.manager.workerContext
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try parent.performAndWait { try GroceryRecord(context: parent).fromModel(.banana) }
    let error = await withCheckedContinuation { continuation in
      child.saveChanges { continuation.resume(returning: $0) }
    }
    #expect(try error == nil && inline { try stack.products() } == [.banana])
    try parent.performAndWait { try GroceryRecord(context: parent).fromModel(.lime) }
    try inline { try child.saveChangesAndWait() }
    #expect(try inline { try stack.products() } == [.banana, .lime])
  }
}
