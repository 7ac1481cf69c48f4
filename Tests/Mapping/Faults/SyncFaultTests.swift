import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

@Suite("Faults of synchronisation")
struct SyncFaultTests {
  private func filled(_ backend: Backend) throws -> MappingStack {
    let stack = try MappingStack(backend)
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true)
    return stack
  }

  private func uploads(_ stack: MappingStack) throws -> Set<String> {
    let records: [FruitRecord] = try stack.manager.fetchRecordsToUpload()
    return Set(records.map(\.uid))
  }

  private func names(_ stack: MappingStack) throws -> [String] {
    try stack.manager.fetchModels(entity: FruitRecord.self, predicate: nil, sortDescriptors: [SortKey("id")])
      .map(\.name)
  }

  @Test(arguments: Backend.available)
  func `fault: deleted records stayed stored after the upload of their deletion`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1", "2"])
    try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1", "3"])
    #expect(try stack.manager.purgeDeletedRecords(entity: FruitRecord.self) == 1)
    #expect(try stack.manager.count(entity: FruitRecord.self) == 3)
    #expect(try !stack.manager.exists(entity: FruitRecord.self, uid: "1"))
  }

  @Test(arguments: Backend.available)
  func `fault: deleted records were fetched as models`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1"])
    #expect(try stack.manager.fetchModels(entity: FruitRecord.self).count == 3)
    #expect(try stack.manager.fetchModels(entity: FruitRecord.self, uids: ["1", "2"]).map(\.uid) == ["2"])
    #expect(try stack.manager.fetchModel(entity: FruitRecord.self, uid: "1") == nil)
    #expect(try names(stack) == ["Banana", "Mango", "Blackberry"])
    #expect(try stack.manager.fetchModel(entity: FruitRecord.self, uid: "1", includesDeleted: true) != nil)
    #expect(try stack.manager.fetchModels(entity: FruitRecord.self, includesDeleted: true).count == 4)
  }

  @Test(arguments: Backend.available)
  func `fault: the deletion of records that the server never had was uploaded`(backend: Backend) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try filled(backend)
      try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"])
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1", "2"])
      let told: [FruitRecord] = try stack.manager.fetchRecordsToDelete()
      #expect(told.map(\.uid) == ["1"])
      #expect(try !stack.manager.exists(entity: FruitRecord.self, uid: "2"))
      try stack.manager.markAllRecordsAsDeleted(entity: FruitRecord.self)
      #expect(try stack.manager.count(entity: FruitRecord.self) == 1)
    }
  }

  @Test(arguments: Backend.available)
  func `fault: records to insert and records to update could not be distinguished`(backend: Backend) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try filled(backend)
      try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1", "2"])
      try stack.manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "1", name: "Lime")], shouldOverwrite: false, from: .here)
      let (made, sent): ([FruitRecord], [FruitRecord]) =
        try (stack.manager.fetchRecordsToCreate(), stack.manager.fetchRecordsToUpdate())
      #expect(Set(made.map(\.uid)) == ["3", "4"] && Set(sent.map(\.uid)) == ["1", "3", "4"])
    }
    let stack = try filled(backend)
    let error = #expect(throws: CoherenceError.self) {
      let _: [FruitRecord] = try stack.manager.fetchRecordsToCreate()
    }
    #expect(error?.code == .modelDoesNotFit)
  }

  @Test(arguments: Backend.available)
  func `fault: an edit during the upload was marked as uploaded`(backend: Backend) throws {
    let stack = try filled(backend)
    let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload()
    let receipts = sent.map(\.uploadReceipt)
    let mango = try #require(sent.first { $0.uid == "3" }).objectID
    let durian = try #require(sent.first { $0.uid == "1" }).objectID
    try stack.manager.save(
      entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false, from: .here)
    try stack.manager.delete(entity: FruitRecord.self, uid: "1")
    let left = try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: receipts)
    #expect(left == [mango, durian])
    #expect(try uploads(stack) == ["3"])
  }

  @Test func `fault: an edit between reading and saving was marked as uploaded`() throws {
    let stack = try filled(.inMemory)
    let context = stack.manager.workerContext
    let (receipts, mango) = try context.performAndWait {
      let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload(context: context)
      return (sent.map(\.uploadReceipt), try #require(sent.first { $0.uid == "3" }))
    }
    // The context keeps the record registered with its known values, while the store has newer ones.
    try stack.manager.save(
      entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false)
    let left = try stack.manager.markRecordsAsUploaded(
      entity: FruitRecord.self, receipts: receipts, context: context)
    #expect(left.count == 1 && context.performAndWait { left.contains(mango.objectID) })
    #expect(try uploads(stack) == ["3"])
  }

  @Test(arguments: Backend.available)
  func `fault: a saved edit was never uploaded, and values of the server were uploaded again`(backend: Backend)
    throws
  {
    let stack = try MappingStack(backend)
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
    #expect(try uploads(stack) == [])
    let edits = [Fruit(uid: "1", name: "Durian"), Fruit(uid: "2", name: "Green banana"), Fruit(uid: "5", name: "Lime")]
    try stack.manager.save(entity: FruitRecord.self, models: edits, shouldOverwrite: false, from: .here)
    #expect(try uploads(stack) == ["2", "5"])
  }

  @Test(arguments: Backend.available)
  func `fault: values of the server replaced edits before their upload`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
    let edits = [Fruit(uid: "2", name: "Green banana"), Fruit(uid: "5", name: "Lime")]
    try stack.manager.save(entity: FruitRecord.self, models: edits, shouldOverwrite: false, from: .here)
    let sent = [Fruit(uid: "1", name: "Big durian"), Fruit(uid: "2", name: "Banana")]
    let result = try stack.manager.save(
      entity: FruitRecord.self, models: sent, shouldOverwrite: true, from: .server())
    #expect(result.updated == 1 && result.skipped == 1 && result.deleted == 2)
    #expect(try names(stack) == ["Big durian", "Green banana", "Lime"])
    #expect(try uploads(stack) == ["2", "5"])
    try stack.manager.save(
      entity: FruitRecord.self, models: sent, shouldOverwrite: true, from: .server(.replaced))
    #expect(try names(stack) == ["Big durian", "Banana"] && uploads(stack) == [])
  }
}
