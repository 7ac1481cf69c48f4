import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

@Suite("Deleting records")
struct DeleteBehaviourTests {
  private func filled(_ backend: Backend, _ more: [GroceryProduct] = []) throws -> MappingStack {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four + more)
    return stack
  }

  @Test(arguments: Backend.available)
  func `all records of an entity are deleted, by a batch request or by delete rules`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.batchDeleteAll(entity: GroceryRecord.self)
    #expect(try stack.products() == [])
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    #expect(try stack.manager.manualDeleteAll(entity: GroceryRecord.self) == 4)
    #expect(try stack.products() == [])
  }

  @Test(arguments: Backend.available)
  func `all records are deleted in batches, also when the last batch is not full`(backend: Backend) throws {
    let stack = try filled(backend, (0..<66).map { GroceryProduct(id: "\($0 % 40)", name: "Product") })
    #expect(try stack.manager.manualDeleteAll(entity: GroceryRecord.self, saveEvery: 25) == 70)
    #expect(try stack.products() == [])
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    #expect(try stack.manager.manualDeleteAll(entityName: "GroceryRecord", saveEvery: 0) == 4)
  }

  @Test(arguments: Backend.available)
  func `records are deleted by uid, and unknown uids are skipped`(backend: Backend) throws {
    let stack = try filled(backend)
    #expect(try stack.manager.delete(entity: GroceryRecord.self, uids: ["x", "y"]) == 0)
    #expect(try stack.products().count == 4)
    #expect(try stack.manager.delete(entity: GroceryRecord.self, uids: ["1", "x", "2"]) == 2)
    #expect(try stack.products() == [.durian, .mango])
    #expect(try stack.manager.delete(entity: GroceryRecord.self, uid: "3") == 1)
    #expect(try stack.manager.deleteRecords(entity: GroceryRecord.self, uids: []) == 0)
    #expect(try stack.products() == [.mango])
  }

  @Test(arguments: Backend.available)
  func `records are deleted by one model or several`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.deleteModel(entity: GroceryRecord.self, model: .banana)
    #expect(try stack.products() == [.blackberry, .durian, .mango])
    try stack.manager.deleteModels(entity: GroceryRecord.self, models: [.mango, .lime, .durian])
    #expect(try stack.products() == [.blackberry])
  }

  @Test(arguments: Backend.available)
  func `all records with one uid are deleted together`(backend: Backend) throws {
    let stack = try filled(backend, [.banana, .banana, .mango])
    #expect(try stack.manager.deleteModels(entity: GroceryRecord.self, models: [.banana, .mango]) == 5)
    #expect(try stack.products() == [.blackberry, .durian])
  }

  @Test(arguments: Backend.available)
  func `the records that satisfy a predicate are deleted`(backend: Backend) throws {
    let stack = try filled(backend)
    let predicate = try FetchPredicate(format: "id IN %@", ["1", "2", "x"])
    #expect(try stack.manager.delete(entity: GroceryRecord.self, predicate: predicate) == 2)
    #expect(try stack.products() == [.durian, .mango])
  }

  @Test(arguments: Backend.available)
  func `clearing deletes the records of all entities`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.insert(FruitRecord.self, Fruit.four)
    try stack.manager.clear()
    #expect(try stack.products() == [])
    #expect(try stack.manager.count(entity: FruitRecord.self) == 0)
  }

  @Test func `a subclass decides which entities are cleared`() throws {
    let stack = try MappingStack()
    let keeper = FruitKeeper(container: stack.manager.container)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.insert(FruitRecord.self, Fruit.four)
    try keeper.clear()
    #expect(try stack.products() == [])
    #expect(try keeper.count(entity: FruitRecord.self) == 4)
  }
}

private final class FruitKeeper: PersistenceManager, @unchecked Sendable {
  // Sendable: like its superclass; the class adds no properties.
  override func entityNamesForClear() -> [String] { super.entityNamesForClear().filter { $0 != "FruitRecord" } }
}
