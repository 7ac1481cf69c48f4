import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

@Suite("Synchronising records")
struct SyncBehaviourTests {
  private func filled(_ backend: Backend = .inMemory) throws -> MappingStack {
    let stack = try MappingStack(backend)
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true)
    return stack
  }

  private func counts(_ stack: MappingStack) throws -> [Int] {
    let upload: [FruitRecord] = try stack.manager.fetchRecordsToUpload()
    let update: [FruitRecord] = try stack.manager.fetchRecordsToUpdate()
    let delete: [FruitRecord] = try stack.manager.fetchRecordsToDelete()
    return [upload.count, update.count, delete.count]
  }

  private func mark(_ uid: String, in stack: MappingStack, _ mark: (FruitRecord) -> Void) throws {
    try stack.work { context in
      for fruit in try context.fetch(FetchRequest(FruitRecord.self).filter(.id(uid))) { mark(fruit) }
      try context.save()
    }
  }

  @Test(arguments: Backend.available)
  func `a new record is fetched for upload and for update, not for deletion`(backend: Backend) throws {
    #expect(try counts(filled(backend)) == [4, 4, 0])
  }

  @Test(arguments: Backend.available)
  func `uploaded records are not fetched for upload, and deleted records are`(
    backend: Backend
  ) throws {
    let stack = try filled(backend)
    try mark("1", in: stack) { $0.isUploaded = true }
    try mark("2", in: stack) { $0.wasDeleted = true }
    #expect(try counts(stack) == [3, 2, 1])
  }

  @Test func `records to upload are fetched in the sort order of their class`() throws {
    let fruits: [FruitRecord] = try filled().manager.fetchRecordsToUpload()
    #expect(fruits.map(\.name) == ["Banana", "Blackberry", "Durian", "Mango"])
  }

  @Test(arguments: Backend.available)
  func `records are marked as uploaded by uid`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1", "2"])
    #expect(try counts(stack) == [2, 2, 0])
  }

  @Test(arguments: Backend.available)
  func `records are marked as deleted by uid, and unknown uids are skipped`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"])
    try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1", "2", "x"])
    #expect(try counts(stack) == [4, 2, 2])
  }

  @Test(arguments: Backend.available)
  func `all records are marked as deleted`(backend: Backend) throws {
    let stack = try filled(backend)
    try stack.manager.markAllRecordsAsDeleted(entity: FruitRecord.self)
    #expect(try counts(stack) == [4, 0, 4])
  }

  @Test func `marks set in a given context are visible in other contexts`() throws {
    let stack = try filled()
    let context = stack.manager.workerContext
    try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"], context: context)
    try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["2"], context: context)
    #expect(try counts(stack) == [3, 2, 1])
  }
}
