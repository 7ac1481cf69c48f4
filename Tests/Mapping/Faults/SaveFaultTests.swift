import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Testing
import TestSupport

@Suite("Faults of saves")
struct SaveFaultTests {
  @Test(arguments: Backend.available)
  func `fault: a failed overwriting save deleted all records`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let wrong = GroceryProduct(id: "9", name: "with \0")
    let error = #expect(throws: CoherenceError.self) {
      try stack.manager.save(entity: GroceryRecord.self, models: [.banana, .lime, wrong], shouldOverwrite: true)
    }
    #expect(error?.code == .validationFailed && error?.message.contains("reportedErrors") == true)
    #expect(try stack.products() == [.banana, .blackberry, .durian, .mango])
  }

  @Test(arguments: Backend.available)
  func `fault: an overwriting save replaced every record`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.work { context in
      let shelf = try context.insertNewObject(forEntityName: "Shelf")
      for record in try context.fetch(FetchRequest(GroceryRecord.self)) {
        try record.setValue("kept", for: "note")
        try record.setObject(shelf, for: "shelf")
      }
      try context.save()
    }
    let before = try stack.versions()
    var models = GroceryProduct.four
    models[0].points += 1
    let result = try stack.manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: true)
    #expect(result.updated == 1 && result.unchanged == 3 && result.inserted == 0 && result.deleted == 0)
    #expect(try Set(stack.versions().keys) == Set(before.keys))
    try stack.work { context in
      for record in try context.fetch(FetchRequest(GroceryRecord.self)) {
        #expect(try record.value(for: "note", as: String?.self) == "kept")
        #expect(try record.object(for: "shelf") != nil)
      }
    }
  }

  @Test(arguments: Backend.available, [true, false])
  func `fault: models with one uid became several records`(backend: Backend, shouldOverwrite: Bool) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, [.banana])
    var later = GroceryProduct.banana
    later.points = 1
    var (first, second) = (GroceryProduct.mango, GroceryProduct.mango)
    (first.points, second.points) = (1, 2)
    let models = [GroceryProduct.banana, first, later, second]
    let result = try stack.manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: shouldOverwrite)
    #expect(result.inserted == 1 && result.updated == 1 && result.skipped == 2)
    #expect(try stack.products() == [later, second])
    try stack.manager.save(
      entity: GroceryRecord.self, models: models, shouldOverwrite: shouldOverwrite, duplicates: .firstWins)
    #expect(try stack.products() == [.banana, first])
  }

  @Test(arguments: Backend.available)
  func `fault: uids in another order than the store's became duplicate records`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    // Precomposed and decomposed strings, and cases that collations order differently from Swift.
    let uids = ["\u{E9}", "e\u{301}", "E", "e", "Z", "a", "\u{DF}", "ss", "\u{FB01}", "10", "9", "", " "]
    let models = uids.map { GroceryProduct(id: $0, name: "Product") }
    for _ in 0..<3 { try stack.manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: false) }
    #expect(try stack.manager.count(entity: GroceryRecord.self) == uids.count)
  }

  @Test(arguments: Backend.available, [true, false])
  func `fault: records that equal their models were written again`(backend: Backend, shouldOverwrite: Bool)
    throws
  {
    let stack = try MappingStack(backend)
    var models = (0..<1_000).map {
      GroceryProduct(id: "\($0)", name: "Product \($0)", details: $0 % 2 == 0 ? nil : "x")
    }
    try stack.manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: shouldOverwrite)
    let before = try stack.versions()
    for place in stride(from: 5, to: models.count, by: 100) { models[place].points = 1 }
    let log = OperationLog()
    stack.manager.container.persistentStoreCoordinator.observer = log
    let result = try stack.manager.save(entity: GroceryRecord.self, models: models, shouldOverwrite: shouldOverwrite)
    #expect(result.updated == 10 && result.unchanged == 990)
    #expect(log.records("updated", of: .save) == [10])
    let after = try stack.versions()
    #expect(after.count { before[$0.key] != $0.value } == 10)
  }

  @Test(arguments: Backend.available)
  func `fault: a save kept a random record of several records with one uid`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    for note in ["oldest", "middle", "youngest"] {
      try stack.work { context in
        let record = try GroceryRecord(context: context)
        try record.fromModel(.banana)
        try record.setValue(note, for: "note")
        try context.save()
      }
    }
    try stack.manager.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: false)
    let notes = try stack.work { context in
      try context.fetch(FetchRequest(GroceryRecord.self)).map { try $0.value(for: "note", as: String?.self) }
    }
    #expect(notes == ["oldest"])
  }

  @Test(arguments: Backend.available)
  func `fault: a long list of uids became a single query`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let models = (0..<70_000).map { GroceryProduct(id: "\($0)", name: "P") }
    try stack.insert(GroceryRecord.self, Array(models.prefix(1_200)))
    #expect(try stack.manager.fetchModels(entity: GroceryRecord.self, uids: models.map(\.id)).count == 1_200)
    #expect(try stack.manager.delete(entity: GroceryRecord.self, uids: models.dropFirst(600).map(\.id)) == 600)
    let result = try stack.manager.save(
      entity: GroceryRecord.self, models: Array(models.prefix(1_200)), shouldOverwrite: false)
    #expect(result.inserted == 600 && result.unchanged == 600)
  }

  @Test func `fault: a failed save left its changes in the given context`() throws {
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, [.banana])
    let wrong = GroceryProduct(id: "9", name: "with \0")
    let context = stack.manager.workerContext
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: context)
    for given in [context, child] {
      #expect(throws: CoherenceError.self) {
        try stack.manager.save(entity: GroceryRecord.self, models: [wrong], shouldOverwrite: true, context: given)
      }
      #expect(!given.performAndWait { given.hasChanges } && !context.performAndWait { context.hasChanges })
    }
    try stack.manager.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false, context: context)
    #expect(try stack.products() == [.banana, .lime])
  }

  @Test func `fault: other changes of the context were lost, or made the save fail`() throws {
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, [.banana])
    let wrong = GroceryProduct(id: "9", name: "with \0")
    let context = stack.manager.workerContext
    try context.performAndWait {
      try GroceryRecord(context: context).fromModel(.mango)
      #expect(throws: CoherenceError.self) {
        try stack.manager.save(entity: GroceryRecord.self, models: [wrong], shouldOverwrite: false, context: context)
      }
      #expect(context.insertedObjects.contains { ($0 as? GroceryRecord)?.name == "Mango" })
    }
  }
}
