import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Faults of deletions")
struct DeleteFaultTests {
  /// Products, the last of which is on a shelf that must not be empty.
  private func stocked(_ backend: Backend) throws -> MappingStack {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.work { context in
      let shelf = try context.insertNewObject(forEntityName: "Shelf")
      let product = try context.fetch(FetchRequest(GroceryRecord.self).sort("id", .reverse)).first
      try shelf.setObjects([try #require(product)], for: "products")
      try context.save()
    }
    return stack
  }

  @Test(arguments: Backend.available)
  func `fault: a failed deletion deleted a part of the records`(backend: Backend) throws {
    let stack = try stocked(backend)
    try stack.work { context in
      _ = try context.insertNewObject(forEntityName: "Shelf")
      try context.save()
    }
    // The delete rule of one of two shelves denies the deletion.
    let error = #expect(throws: CoherenceError.self) { try stack.manager.manualDeleteAll(entityName: "Shelf") }
    #expect(error?.code == .deleteDenied)
    #expect(try stack.versions(of: "Shelf").count == 2)
  }

  @Test func `fault: a deletion in batches had all records in memory`() throws {
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, (0..<70).map { GroceryProduct(id: "\($0)", name: "Product") })
    let log = OperationLog()
    stack.manager.container.persistentStoreCoordinator.observer = log
    try stack.manager.manualDeleteAll(entity: GroceryRecord.self, saveEvery: 25)
    #expect(log.records("fetched", of: .fetch) == [25, 25, 20])
    #expect(log.records("deleted", of: .save) == [25, 25, 20])
  }

  @MainActor @Test(arguments: Backend.available)
  func `fault: contexts were not notified of batch deletions, which only one kind of store supported`(
    backend: Backend
  ) async throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let kept: [GroceryRecord] = try inline { try stack.manager.fetchRecords() }
    let manager = stack.manager
    try onThread {
      let theirs: [GroceryRecord] = try manager.fetchRecords()
      try manager.batchDeleteAll(entity: GroceryRecord.self)
      #expect(try manager.count(entity: GroceryRecord.self, context: manager.contextForThread()) == 0)
      #expect(theirs.allSatisfy { $0.isDeleted })
    }
    // The yield ends the main actor's turn, with the state of the stores in which the records were fetched.
    await Task.yield()
    #expect(try inline { try stack.products() } == [])
    #expect(kept.count == 4 && kept.allSatisfy { $0.managedObjectContext == nil })
  }

  @Test(arguments: Backend.available)
  func `fault: clearing depended on the order of entities, and cleared a part of them`(backend: Backend) throws {
    let stack = try stocked(backend)
    try stack.manager.clear()
    #expect(try stack.products() == [] && stack.versions(of: "Shelf").isEmpty)
    let other = try stocked(backend)
    let error = #expect(throws: CoherenceError.self) {
      try HalfClearer(container: other.manager.container).clear()
    }
    #expect(error?.code == .deleteDenied)
    #expect(try other.products().count == 4 && other.versions(of: "Shelf").count == 1)
  }

  @MainActor @Test(arguments: Backend.available)
  func `fault: an overwriting save left dangling references`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let kept: [GroceryRecord] = try inline { try stack.manager.fetchRecords(sortDescriptors: [SortKey("id")]) }
    try inline { try stack.manager.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: true) }
    #expect(try inline { try stack.manager.count(entity: GroceryRecord.self) } == 1)
    #expect(kept.map { $0.managedObjectContext == nil } == [false, true, true, true])
    #expect(kept[0].name == "Banana" && !kept[0].isUnavailable)
  }
}

/// Clears the shelves without their products, so that the delete rule denies the deletion.
private final class HalfClearer: PersistenceManager, @unchecked Sendable {
  // Sendable: like its superclass; the class adds no properties.
  override func entityNamesForClear() -> [String] { ["FruitRecord", "Shelf"] }
}
