import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

/// Every method hands the given context on. A context of another manager shows whether the method has used the context.
@Suite("Contexts given to the methods of managers")
struct GivenContextTests {
  /// The names of the calls that do not refuse their context.
  private func unrefused(_ calls: [(name: String, body: () throws -> Void)]) -> [String] {
    calls.filter { call in
      do {
        try call.body()
        return true
      } catch {
        return !(ErrorCode.wrongContext ~= error)
      }
    }.map(\.name)
  }

  @Test func `every fetch of records and models refuses the context of another manager`() throws {
    let (stack, other) = (try MappingStack(), try MappingStack())
    let (manager, context) = (stack.manager, other.manager.workerContext)
    let record = GroceryRecord.self
    let accepted = unrefused([
      ("fetchRecords", { _ = try manager.fetchRecords(entity: record, context: context) }),
      ("fetchModels of all", { _ = try manager.fetchModels(entity: record, context: context) }),
      ("fetchModels by uid", { _ = try manager.fetchModels(entity: record, uids: ["1"], context: context) }),
      ("fetchModels by predicate", { _ = try manager.fetchModels(entity: record, predicate: nil, context: context) }),
      ("fetchModel by uid", { _ = try manager.fetchModel(entity: record, uid: "1", context: context) }),
      ("fetchModel by uids", { _ = try manager.fetchModel(entity: record, uids: ["1"], context: context) }),
      ("count", { _ = try manager.count(entity: record, context: context) }),
      ("exists", { _ = try manager.exists(entity: record, uid: "1", context: context) }),
      ("fetchRecordsToUpload", { _ = try manager.fetchRecordsToUpload(entity: FruitRecord.self, context: context) }),
      ("fetchRecordsToUpdate", { _ = try manager.fetchRecordsToUpdate(entity: FruitRecord.self, context: context) }),
      ("fetchRecordsToDelete", { _ = try manager.fetchRecordsToDelete(entity: FruitRecord.self, context: context) }),
    ])
    #expect(accepted == [])
  }

  @Test func `every deletion refuses the context of another manager`() throws {
    let (stack, other) = (try MappingStack(), try MappingStack())
    let (manager, context) = (stack.manager, other.manager.workerContext)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let (record, name) = (GroceryRecord.self, GroceryRecord.entityName)
    let accepted = unrefused([
      ("uid", { try manager.delete(entity: record, uid: "1", context: context) }),
      ("uids", { try manager.delete(entity: record, uids: ["1"], context: context) }),
      ("records", { try manager.deleteRecords(entity: record, uids: ["1"], context: context) }),
      ("model", { try manager.deleteModel(entity: record, model: .banana, context: context) }),
      ("models", { try manager.deleteModels(entity: record, models: [.banana], context: context) }),
      ("predicate", { try manager.delete(entity: record, predicate: nil, context: context) }),
      ("predicate and name", { try manager.delete(entityName: name, predicate: nil, context: context) }),
      ("batches", { try manager.delete(entityName: name, predicate: nil, saveEvery: 2, context: context) }),
      ("all", { try manager.manualDeleteAll(entity: record, context: context) }),
      ("all of a name", { try manager.manualDeleteAll(entityName: name, context: context) }),
      ("batch", { try manager.batchDeleteAll(entity: record, context: context) }),
      ("batch of a name", { try manager.batchDeleteAll(entityName: name, context: context) }),
      ("purge", { try manager.purgeDeletedRecords(entity: FruitRecord.self, context: context) }),
    ])
    #expect(accepted == [])
    #expect(try stack.products().count == 4)
  }

  @Test func `every save and every mark refuses the context of another manager`() throws {
    let (stack, other) = (try MappingStack(), try MappingStack())
    let (manager, context) = (stack.manager, other.manager.workerContext)
    let accepted = unrefused([
      (
        "save",
        { try manager.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false, context: context) }
      ),
      (
        "save with marks",
        {
          try manager.save(
            entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: false, from: .here, context: context)
        }
      ),
      ("transaction", { try manager.transaction(context: context) { _ in } }),
      ("uploaded", { try manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"], context: context) }),
      (
        "uploaded by receipts",
        { _ = try manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: [], context: context) }
      ),
      ("deleted", { try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1"], context: context) }),
      ("all deleted", { try manager.markAllRecordsAsDeleted(entity: FruitRecord.self, context: context) }),
    ])
    #expect(accepted == [])
    #expect(try manager.count(entity: GroceryRecord.self) + manager.count(entity: FruitRecord.self) == 0)
  }

  @Test func `every method of a mapping refuses the context of another manager`() throws {
    let (stack, other) = (try Person.stack(.inMemory), try Person.stack(.inMemory))
    let (manager, context, people) = (stack.manager, other.manager.workerContext, Person.mapping)
    let ada = Person(id: 1, name: "Ada", age: 37)
    let accepted = unrefused([
      ("fetchModels", { _ = try manager.fetchModels(people, context: context) }),
      ("fetchModels by uid", { _ = try manager.fetchModels(people, uids: [1], context: context) }),
      ("fetchModel", { _ = try manager.fetchModel(people, uid: 1, context: context) }),
      ("count", { _ = try manager.count(people, context: context) }),
      ("save", { try manager.save(people, models: [ada], shouldOverwrite: true, context: context) }),
      ("delete by uid", { try manager.delete(people, uids: [1], context: context) }),
      ("deleteModels", { try manager.deleteModels(people, models: [ada], context: context) }),
      ("delete", { try manager.delete(people, where: nil, context: context) }),
    ])
    #expect(accepted == [])
    #expect(try manager.count(people) == 4)
  }
}
