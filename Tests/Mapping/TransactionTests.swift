import CoherenceCore
import CoherenceMapping
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Transactions of several calls")
struct TransactionTests {
  private struct Abandoned: Error {}

  @Test(arguments: Backend.available)
  func `what the manager writes in the context of a transaction was saved before its end`(
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

  @Test func `what is saved by who hears of a transaction's save is saved`() throws {
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

  @Test func `a child of a transaction's context saved the transaction`() throws {
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
  func `a save that failed in the middle was saved when its error was caught in a transaction`(
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
    // What was refused before anything was done is no part of the transaction.
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
}
