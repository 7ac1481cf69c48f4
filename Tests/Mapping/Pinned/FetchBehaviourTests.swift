import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

@Suite("Fetching models and records")
struct FetchBehaviourTests {
  @Test(arguments: Backend.available)
  func `a fetch without uids returns all models`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    #expect(try Set(stack.manager.fetchModels(entity: GroceryRecord.self)) == Set(GroceryProduct.four))
  }

  @Test(arguments: Backend.available)
  func `uids without a record are skipped`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let models = try stack.manager.fetchModels(entity: GroceryRecord.self, uids: ["1", "x", "3"])
    #expect(Set(models) == [.banana, .durian])
  }

  @Test(arguments: Backend.available)
  func `a fetch by uid returns the model, and nil for an unknown uid`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    #expect(try stack.manager.fetchModel(entity: GroceryRecord.self, uid: "4") == .mango)
    #expect(try stack.manager.fetchModel(entity: GroceryRecord.self, uid: "5") == nil)
    #expect(try stack.manager.fetchModel(entity: GroceryRecord.self, uids: ["4", "2"]).count == 2)
  }

  @Test(arguments: Backend.available)
  func `records are fetched in the requested order with all values`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let records: [GroceryRecord] = try stack.manager.fetchRecords(
      sortDescriptors: SortInfo(columns: [SortColumn(key: "name")]).descriptors)
    #expect(records.map { $0.toModel() } == [.banana, .blackberry, .durian, .mango])
  }

  @Test func `records are fetched in the given context`() throws {
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.work { context in
      let records: [GroceryRecord] = try stack.manager.fetchRecords(context: context)
      #expect(records.count == 4 && records.allSatisfy { $0.managedObjectContext === context })
    }
    let records: [GroceryRecord] = try stack.manager.fetchRecords(context: nil)
    #expect(Set(records.map { $0.toModel() }) == Set(GroceryProduct.four))
  }

  @Test(arguments: Backend.available)
  func `records are fetched by a predicate`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let cheap: [GroceryRecord] = try stack.manager.fetchRecords(predicate: FetchPredicate(format: "points < 200"))
    #expect(cheap.map(\.name) == ["Blackberry"])
  }
}
