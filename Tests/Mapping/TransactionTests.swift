import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Transactions of several calls")
struct TransactionTests {
  private struct Abandoned: Error {}

  @Test(arguments: Backend.available)
  func `a write of the manager in a transaction's context is saved with the transaction, not earlier`(
    backend: Backend
  ) throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    try stack.insert(GroceryRecord.self, [.banana, .mango])
    func write(_ context: ManagedObjectContext) throws {
      try manager.delete(entity: GroceryRecord.self, uid: "1", context: context)
      try manager.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false, context: context)
      try manager.save(
        entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .here, context: context)
      try manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"], context: context)
      #expect(try stack.makeStranger().count(entity: FruitRecord.self) == 0)
    }
    #expect(throws: Abandoned.self) {
      try manager.transaction { transaction in
        try write(transaction.context)
        throw Abandoned()
      }
    }
    #expect(try stack.products() == [.banana, .mango] && manager.count(entity: FruitRecord.self) == 0)
    try manager.transaction { try write($0.context) }
    #expect(try stack.products() == [.mango, .lime] && manager.count(entity: FruitRecord.self) == 4)
  }

  @Test func `a save that an observer makes during a transaction's save is committed`() throws {
    let stack = try MappingStack()
    let manager = stack.manager
    let context = manager.workerContext
    let isDone = Mutex(false)
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: nil
    ) { _ in
      let isFirst = isDone.withLock { done in
        defer { done = true }
        return !done
      }
      guard isFirst else { return }
      do {
        try manager.save(entity: GroceryRecord.self, models: [.mango], shouldOverwrite: false, context: context)
      } catch {
        Issue.record(error)
      }
    }
    try manager.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false, context: context)
    NotificationCenter.default.removeObserver(observer)
    #expect(try stack.products() == [.mango, .lime])
  }

  @Test func `a save of a child context does not commit the transaction of its parent`() throws {
    let stack = try MappingStack()
    let manager = stack.manager
    #expect(throws: Abandoned.self) {
      try manager.transaction { transaction in
        try transaction.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false)
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: transaction.context)
        try manager.save(entity: GroceryRecord.self, models: [.mango], shouldOverwrite: false, context: child)
        #expect(try transaction.count(entity: GroceryRecord.self) == 2)
        throw Abandoned()
      }
    }
    #expect(try stack.products() == [])
  }

  @Test(arguments: Backend.available)
  func `a transaction fails when a save in it failed, even if the block catches the error`(
    backend: Backend
  ) throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    try stack.insert(GroceryRecord.self, [.banana, .mango])
    for isOfManager in [true, false] {
      #expect(throws: Abandoned.self) {
        try manager.transaction { transaction in
          try? GroceryRecord.$onFromModel.withValue({ _ in throw Abandoned() }) {
            if isOfManager {
              try manager.save(
                entity: GroceryRecord.self, models: [.lime], shouldOverwrite: true, context: transaction.context)
            } else {
              try transaction.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: true)
            }
          }
        }
      }
      #expect(try stack.products() == [.banana, .mango])
    }
    // A call that throws before it changes anything does not fail the transaction.
    try manager.transaction { transaction in
      let models: [GroceryProduct] = [.lime, .lime]
      #expect(throws: CoherenceError.self) {
        try transaction.save(
          entity: GroceryRecord.self, models: models, shouldOverwrite: true, duplicates: .refused)
      }
      try transaction.save(entity: GroceryRecord.self, models: models, shouldOverwrite: true)
    }
    #expect(try stack.products() == [.lime])
  }

  @Test(arguments: Backend.available)
  func `the transactions of a deletion in batches stay committed when a later one fails`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, [.banana])
    for number in 0..<4 {
      try stack.work { context in
        let shelf = try context.insertNewObject(forEntityName: "Shelf")
        try shelf.setValue(number, for: "number")
        // The delete rule of the second shelf denies the deletion.
        if number == 1 { try shelf.setObjects(try context.fetch(FetchRequest(GroceryRecord.self)), for: "products") }
        try context.save()
      }
    }
    let error = #expect(throws: CoherenceError.self) {
      try stack.manager.manualDeleteAll(entityName: "Shelf", saveEvery: 1)
    }
    #expect(error?.code == .deleteDenied)
    #expect(try stack.versions(of: "Shelf").count == 3)
    let last = try FetchPredicate(format: "number > 1")
    #expect(try stack.manager.delete(entityName: "Shelf", predicate: last, saveEvery: 1) == 2)
    #expect(try stack.versions(of: "Shelf").count == 1)
  }

  private struct Later: Error {}

  @Test func `a transaction with several failed saves throws the error of the first`() throws {
    let stack = try MappingStack()
    #expect(throws: Abandoned.self) {
      try stack.manager.transaction { transaction in
        let errors: [any Error] = [Abandoned(), Later()]
        for error in errors {
          _ = try? GroceryRecord.$onFromModel.withValue({ _ in throw error }) {
            try transaction.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false)
          }
        }
      }
    }
    #expect(try stack.products() == [])
  }

  /// The number of records in a batch, and the number of saves for five records.
  @Test(arguments: [(2, 3), (5, 1), (9, 1), (1, 5), (0, 5), (-1, 5)])
  func `a deletion in batches saves each batch, and a batch has one record at least`(size: Int, saves: Int) throws {
    let stack = try MappingStack()
    let models = (1...5).map { GroceryProduct(id: "\($0)", name: "product \($0)") }
    try stack.manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: true)
    let log = OperationLog()
    stack.manager.container.persistentStoreCoordinator.observer = log
    #expect(try stack.manager.manualDeleteAll(entity: GroceryRecord.self, saveEvery: size) == 5)
    #expect(log.count(.save) == saves)
    #expect(try stack.products() == [])
  }
}
