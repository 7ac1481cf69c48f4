import CoherenceCore
import CoherenceMapping
import Synchronization
import Testing
import TestSupport

@Suite("Asynchronous forms")
struct AwaitingTests {
  @Test(arguments: Backend.available)
  func `the asynchronous forms have the effect of the synchronous ones`(backend: Backend) async throws {
    let stack = try MappingStack(backend, isLoaded: false)
    let manager = stack.manager
    try await manager.load()
    let saved = try await manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    #expect(saved.inserted == 4)
    #expect(try await manager.fetchModels(entity: GroceryRecord.self, uids: ["1"]) == [.banana])
    #expect(try await manager.fetchModels(entity: GroceryRecord.self, uids: []) == [])
    let cheap = try await manager.fetchModels(
      entity: GroceryRecord.self, predicate: FetchPredicate(format: "points < 300"), sortDescriptors: [SortKey("name")],
      limit: 1, offset: 1)
    #expect(cheap == [.blackberry])
    #expect(try await manager.fetchModel(entity: GroceryRecord.self, uid: "4") == .mango)
    #expect(try await manager.exists(entity: GroceryRecord.self, uid: "4"))
    #expect(try await manager.delete(entity: GroceryRecord.self, uid: "4") == 1)
    #expect(try await manager.delete(entity: GroceryRecord.self, uids: ["3", "x"]) == 1)
    #expect(try await manager.deleteModel(entity: GroceryRecord.self, model: .banana) == 1)
    #expect(try await manager.count(entity: GroceryRecord.self) == 1)
    #expect(try await manager.deleteModels(entity: GroceryRecord.self, models: [.blackberry]) == 1)
    try await manager.transaction { transaction in
      try transaction.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    }
    #expect(try await manager.delete(entity: GroceryRecord.self, predicate: .id("1")) == 1)
    #expect(try await manager.manualDeleteAll(entity: GroceryRecord.self, saveEvery: 2) == 3)
    try await manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    try await manager.batchDeleteAll(entity: GroceryRecord.self)
    #expect(try await manager.count(entity: GroceryRecord.self) == 0)
    try await manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    try await manager.clear()
    #expect(try await manager.count(entity: GroceryRecord.self) == 0)
    try await manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    try await manager.destroy()
    #expect(try await manager.count(entity: GroceryRecord.self) == 0)
  }

  @Test(arguments: Backend.available)
  func `the asynchronous forms set marks`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    try await manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .here)
    try await manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"])
    try await manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1", "2"])
    let context = manager.workerContext
    let receipts = try await context.perform {
      let records: [FruitRecord] = try manager.fetchRecordsToUpload(context: context)
      return records.map(\.uploadReceipt)
    }
    #expect(receipts.count == 4)
    try await manager.save(
      entity: FruitRecord.self, models: [Fruit(uid: "2", name: "Edited")], shouldOverwrite: false, from: .here)
    #expect(try await manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: receipts).count == 1)
    #expect(try await manager.purgeDeletedRecords(entity: FruitRecord.self) == 1)
    try await manager.markAllRecordsAsDeleted(entity: FruitRecord.self)
    #expect(try await manager.fetchModels(entity: FruitRecord.self) == [])
    #expect(try await manager.fetchModels(entity: FruitRecord.self, includesDeleted: true).count == 3)
  }

  @Test(arguments: Backend.available)
  func `the asynchronous forms of records have the conditions and policies of the synchronous ones`(backend: Backend)
    async throws
  {
    let stack = try MappingStack(backend)
    defer { withExtendedLifetime(stack) {} }
    let manager = stack.manager
    let twice = [Fruit(uid: "1", name: "first"), Fruit(uid: "1", name: "last")]
    try await manager.save(entity: FruitRecord.self, models: twice, shouldOverwrite: true, duplicates: .firstWins)
    #expect(try await manager.fetchModels(entity: FruitRecord.self).map(\.name) == ["first"])
    await #expect {
      try await manager.save(
        entity: FruitRecord.self, models: twice, shouldOverwrite: false, from: .here, duplicates: .refused)
    } throws: {
      ErrorCode.duplicateUid ~= $0
    }
    try await manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .here)
    try await manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["2"])
    let late = try FetchPredicate(format: "id > '1'")
    let order = [SortKey("id")]
    let present = try await manager.fetchModels(entity: FruitRecord.self, predicate: late, sortDescriptors: order)
    #expect(present.map(\.uid) == ["3", "4"])
    let all = try await manager.fetchModels(
      entity: FruitRecord.self, predicate: late, sortDescriptors: order, includesDeleted: true)
    #expect(all.map(\.uid) == ["2", "3", "4"])
    #expect(try await manager.fetchModel(entity: FruitRecord.self, uid: "2") == nil)
    #expect(try await manager.fetchModel(entity: FruitRecord.self, uid: "2", includesDeleted: true)?.uid == "2")
    #expect(try await manager.count(entity: FruitRecord.self, predicate: late) == 3)
    #expect(try await manager.exists(entity: FruitRecord.self, uid: "2"))
    #expect(try await !manager.exists(entity: FruitRecord.self, uid: "9"))
  }

  @Test(arguments: Backend.available)
  func `the asynchronous forms of mappings have the conditions, orders, ranges and policies of the synchronous ones`(
    backend: Backend
  ) async throws {
    let people = Person.mapping
    let stack = try MappingStack(backend, model: ManagedObjectModel { people })
    defer { withExtendedLifetime(stack) {} }
    let manager = stack.manager
    let models = [
      Person(id: 1, name: "Ada", age: 36), Person(id: 2, name: "Bea", age: 18), Person(id: 3, name: "Cid", age: 7),
      Person(id: 4, name: "Dan", age: 90), Person(id: 1, name: "last", age: 36),
    ]
    let saved = try await manager.save(people, models: models, shouldOverwrite: false, duplicates: .firstWins)
    #expect(saved.inserted == 4 && saved.skipped == 1)
    let adults = people[\.age] >= 18
    let found = try await manager.fetchModels(
      people, where: adults, sort: [people.order(\.age, ascending: false)], limit: 2, offset: 1)
    #expect(found.map(\.name) == ["Ada", "Bea"])
    #expect(try await manager.count(people, where: adults) == 3)
    let rest = try await manager.save(people, models: found, shouldOverwrite: true)
    #expect(rest.deleted == 2 && rest.unchanged == 2)
  }

  @Test(arguments: Backend.available)
  func `a cancelled task saves nothing`(backend: Backend) async throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    try await manager.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: true)
    for cancelsInside in [true, false] {
      let task = Task {
        // The cancellation comes during the save, or before it begins.
        try await GroceryRecord.$onFromModel.withValue({ _ in withUnsafeCurrentTask { $0?.cancel() } }) {
          if !cancelsInside { withUnsafeCurrentTask { $0?.cancel() } }
          try await manager.save(entity: GroceryRecord.self, models: [.mango], shouldOverwrite: true)
        }
      }
      await #expect(throws: (any Error).self) { try await task.value }
    }
    #expect(try await manager.fetchModels(entity: GroceryRecord.self) == [.banana])
  }

  @Test(arguments: Backend.available)
  func `a fetch of a cancelled task stops between batches, and the manager stays usable`(backend: Backend)
    async throws
  {
    let mapping = Mapping<Counted>("Counted", uid: \.id) {
      Field("id", \.id)
      Field("text", \.text)
    }
    let stack = try MappingStack(backend, model: ManagedObjectModel { mapping })
    let manager = stack.manager
    let models = (0..<10_000).map { Counted(id: $0, text: "\($0)") }
    try await manager.save(mapping, models: models, shouldOverwrite: true)
    let made = Tally()
    let task = Task {
      try await Counted.$onDecode.withValue({
        made.add()
        withUnsafeCurrentTask { $0?.cancel() }
      }) { try await manager.fetchModels(mapping) }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect((1..<models.count).contains(made.count))
    #expect(try await manager.fetchModels(mapping, sort: [mapping.order(\.id)]) == models)
    #expect(try await manager.save(mapping, models: [], shouldOverwrite: true).deleted == models.count)
  }

  @Test(arguments: Backend.available)
  func `a fetch of records stops between models when its task is cancelled`(backend: Backend)
    async throws
  {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    let models = (0..<5_000).map { GroceryProduct(id: "\($0)", name: "P") }
    try await manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: true)
    let made = Tally()
    let task = Task {
      try await GroceryRecord.$onToModel.withValue({
        made.add()
        withUnsafeCurrentTask { $0?.cancel() }
      }) { try await manager.fetchModels(entity: GroceryRecord.self) }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect((1..<models.count).contains(made.count))
    #expect(try await manager.fetchModels(entity: GroceryRecord.self).count == models.count)
  }

  @Test func `the asynchronous forms throw the errors of the synchronous ones`() async throws {
    let manager = try MappingStack().manager
    let wrong = GroceryProduct(id: "1", name: "with \0")
    let error = await #expect(throws: CoherenceError.self) {
      try await manager.save(entity: GroceryRecord.self, models: [wrong], shouldOverwrite: false)
    }
    #expect(error?.code == .validationFailed)
  }
}

/// A model with custom decoding.
private struct Counted: Codable, Sendable, Hashable {
  var id: Int
  var text: String
  /// Called while a model is decoded. Bound for a test.
  @TaskLocal static var onDecode: (@Sendable () -> Void)?

  private enum CodingKeys: CodingKey { case id, text }

  init(id: Int, text: String) { (self.id, self.text) = (id, text) }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    // Custom decoding, so that no model is assembled in memory.
    text = try container.decode(String.self, forKey: .text) + (Self.onDecode == nil ? "" : " ")
    Self.onDecode?()
  }
}

/// A counter for any thread.
private final class Tally: Sendable {
  private let sum = Mutex(0)
  func add() { sum.withLock { $0 += 1 } }
  var count: Int { sum.withLock { $0 } }
}
