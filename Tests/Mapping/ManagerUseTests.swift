import CoherenceCore
import CoherenceMapping
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Managers in use")
struct ManagerUseTests {
  @Test func `a manager made by the name of its model has the stores, directory and merge policy of its arguments`()
    throws
  {
    let name = "Model \(UUID().uuidString)"
    let model = try ManagedObjectModel(name: name, entities: [Entity("Thing")])
    try model.register()
    let directory = TemporaryDirectory()
    var policy = MergePolicy.objectTrumps
    policy.allows = { _ in true }
    let manager = PersistenceManager(
      modelName: name, mergePolicy: policy,
      storeConfigurations: [StoreConfiguration(fileName: "things.db", type: .sqlite)], storeLocation: directory.url)
    try manager.load()
    #expect(directory.has("things.db") && manager.mergePolicy.allows != nil)
  }

  @Test(arguments: Backend.available)
  func `many threads save, fetch and delete at once`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 16) { number in
      do {
        let mine = (0..<20).map { GroceryProduct(id: "\(number)-\($0)", name: "Product \($0)", points: number) }
        let uids = mine.map(\.id)
        for round in 0..<5 {
          try manager.save(entity: GroceryRecord.self, models: mine, shouldOverwrite: false)
          let context = number % 2 == 0 ? manager.contextForThread() : nil
          let found = try manager.fetchModels(entity: GroceryRecord.self, uids: uids, context: context)
          if Set(found) != Set(mine) { failures.withLock { $0.append("\(number): \(found.count) in \(round)") } }
          if try manager.delete(entity: GroceryRecord.self, uids: Array(uids.prefix(5))) != 5 {
            failures.withLock { $0.append("\(number): not deleted") }
          }
        }
      } catch {
        failures.withLock { $0.append("\(number): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try manager.count(entity: GroceryRecord.self) == 16 * 15)
  }

  @Test(arguments: Backend.available)
  func `stores destroyed during writes are intact afterwards`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    let codes = Mutex<Set<String>>([])
    DispatchQueue.concurrentPerform(iterations: 4) { number in
      for round in 0..<20 {
        do {
          if number == 0 {
            if round % 5 == 0 { try manager.destroy() }
          } else {
            let mine = (0..<10).map { GroceryProduct(id: "\(number)-\($0)", name: "\(round)") }
            try manager.save(entity: GroceryRecord.self, models: mine, shouldOverwrite: false)
          }
        } catch {
          codes.withLock { _ = $0.insert("\((error as? CoherenceError)?.code ?? ErrorCode("\(error)"))") }
        }
      }
    }
    let expected: Set<String> = ["storeDetached", "contextWithoutStore", "versionConflict"]
    #expect(codes.withLock { $0 }.isSubset(of: expected))
    try manager.destroy()
    #expect(try manager.count(entity: GroceryRecord.self) == 0)
    try manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    #expect(try stack.products().count == 4)
  }

  @Test(arguments: Backend.available)
  func `two managers on one store see each other's saves`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let other = try stack.makeStranger()
    try stack.manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    #expect(try other.fetchModel(entity: GroceryRecord.self, uid: "1") == .banana)
    var banana = GroceryProduct.banana
    banana.points = 1
    try other.save(entity: GroceryRecord.self, models: [banana], shouldOverwrite: false)
    #expect(try stack.manager.fetchModel(entity: GroceryRecord.self, uid: "1") == banana)
    #expect(try stack.manager.save(entity: GroceryRecord.self, models: [banana], shouldOverwrite: false).unchanged == 1)
    try other.clear()
    #expect(try stack.products() == [])
  }

  @Test(arguments: Backend.available)
  func `records of one entity in several stores are found, changed and deleted in their stores`(
    backend: Backend
  ) throws {
    let directory = TemporaryDirectory()
    let configurations = (0..<2).map { _ in backend.newConfiguration() }
    let people = Person.mapping
    let manager = PersistenceManager(
      name: "Groceries", model: try ManagedObjectModel { people }, storeConfigurations: configurations,
      storeLocation: directory.url)
    try manager.load()
    let stores = manager.container.persistentStoreCoordinator.persistentStores
    #expect(stores.count == 2)
    let context = manager.workerContext
    try context.performAndWait {
      for number in 0..<6 {
        let record = try context.insertNewObject(forEntityName: "Person")
        for (key, value) in [("id", number), ("age", number)] { try record.setValue(value, for: key) }
        try record.setValue("Person \(number)", for: "name")
        try context.assign(record, to: stores[number % 2])
      }
      try context.save()
    }
    var models = try manager.fetchModels(people, sort: [people.order(\.id)])
    #expect(models.map(\.id) == Array(0..<6))
    #expect(try manager.fetchModels(people, sort: [people.order(\.id)], limit: 2, offset: 3).map(\.id) == [3, 4])
    for place in [1, 2] { models[place].age = 50 }
    models.append(Person(id: 7, name: "New", age: 7))
    let result = try manager.save(people, models: models, shouldOverwrite: false)
    #expect(result.updated == 2 && result.inserted == 1 && result.unchanged == 4)
    #expect(try manager.fetchModels(people, sort: [people.order(\.id)]) == models)
    #expect(try manager.delete(people, where: people[\.age] == 50) == 2)
    #expect(try manager.save(people, models: [], shouldOverwrite: true).deleted == 5)
  }
}
