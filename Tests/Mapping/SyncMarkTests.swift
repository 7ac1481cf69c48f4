import CoherenceCore
import CoherenceInMemory
import CoherenceMapping
import CoherenceStrategies
import Synchronization
import Testing
import TestSupport

/// Synchronisation marks under several writers.
@Suite("Synchronisation marks")
struct SyncMarkTests {
  private static let policies = ["error", "storeTrumps", "objectTrumps", "overwrite"]

  private func policy(_ name: String) -> MergePolicy {
    switch name {
    case "storeTrumps": .storeTrumps
    case "objectTrumps": .objectTrumps
    case "overwrite": .overwrite
    default: .error
    }
  }

  private func filled(_ name: String = "error", from origin: SyncOrigin = .here) throws -> MappingStack {
    let stack = try MappingStack(mergePolicy: policy(name))
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: origin)
    return stack
  }

  private func uploads(_ stack: MappingStack) throws -> Set<String> {
    let records: [FruitRecord] = try stack.manager.fetchRecordsToUpload()
    return Set(records.map(\.uid))
  }

  private func fruit(_ uid: String, _ stack: MappingStack) throws -> Fruit? {
    try stack.manager.fetchModel(entity: FruitRecord.self, uid: uid)
  }

  /// Runs a closure once, between the reading and the save of a method.
  @discardableResult
  private func meanwhile<T>(_ other: @escaping @Sendable () throws -> Void, _ body: () throws -> T) rethrows -> T {
    let isDone = Mutex(false)
    return try FruitRecord.$onChange.withValue({ _ in
      let isFirst = isDone.withLock { done in
        defer { done = true }
        return !done
      }
      guard isFirst else { return }
      do { try other() } catch { Issue.record(error) }
    }) {
      try body()
    }
  }

  @Test(arguments: policies)
  func `an edit between reading and saving is not marked as uploaded, under any merge policy`(name: String) throws {
    let stack = try filled(name)
    let context = stack.manager.workerContext
    let receipts = try context.performAndWait {
      let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload(context: context)
      // The strong reference keeps the record registered, so that the context uses its known values.
      return (sent.map(\.uploadReceipt), sent)
    }
    try stack.manager.save(
      entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false, from: .here)
    let left = try stack.manager.markRecordsAsUploaded(
      entity: FruitRecord.self, receipts: receipts.0, context: context)
    #expect(left.count == 1)
    #expect(try uploads(stack) == ["3"])
    #expect(try fruit("3", stack)?.name == "Green mango")
    #expect(!context.performAndWait { context.hasChanges })
  }

  @Test func `the records of one store are marked although a record of another store was edited since`() throws {
    let stack = try filled()
    let second = try stack.manager.container.persistentStoreCoordinator.addPersistentStore(type: .inMemory)
    let writer = stack.manager.workerContext
    try writer.performAndWait {
      let fig = try writer.insertNewObject(forEntityName: "FruitRecord")
      try fig.setValue("9", for: "id")
      try fig.setValue("Fig", for: "name")
      try writer.assign(fig, to: second)
      try writer.save()
    }
    let context = stack.manager.workerContext
    let receipts = try context.performAndWait {
      let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload(context: context)
      return (sent.map(\.uploadReceipt), sent)
    }
    #expect(receipts.0.count == 5)
    try stack.manager.save(
      entity: FruitRecord.self, models: [Fruit(uid: "9", name: "Green fig")], shouldOverwrite: false, from: .here)
    let left = try stack.manager.markRecordsAsUploaded(
      entity: FruitRecord.self, receipts: receipts.0, context: context)
    #expect(left.count == 1)
    #expect(try uploads(stack) == ["9"])
    #expect(!context.performAndWait { context.hasChanges })
  }

  @Test func `an unsaved edit of the context is not marked as uploaded`() throws {
    let stack = try filled()
    let context = stack.manager.workerContext
    try context.performAndWait {
      let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload(context: context)
      let receipts = sent.map(\.uploadReceipt)
      let (mango, durian) = (try #require(sent.first { $0.uid == "3" }), try #require(sent.first { $0.uid == "1" }))
      mango.name = "Green mango"
      // Another context edits a second record. The conflict appears at the save.
      try stack.manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "1", name: "Big durian")], shouldOverwrite: false, from: .here)
      let left = try stack.manager.markRecordsAsUploaded(
        entity: FruitRecord.self, receipts: receipts, context: context)
      #expect(left == [mango.objectID, durian.objectID])
    }
    #expect(try uploads(stack) == ["1", "3"])
    #expect(try fruit("1", stack)?.name == "Big durian" && fruit("3", stack)?.name == "Green mango")
  }

  @Test func `the receipt of a fault has the version of its record`() throws {
    let stack = try filled()
    let context = stack.manager.workerContext
    try context.performAndWait {
      let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload(context: context)
      context.refreshAll()
      let receipts = sent.map(\.uploadReceipt)
      context.refreshAll()
      #expect(
        try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: receipts, context: context) == [])
    }
    #expect(try uploads(stack) == [])
  }

  @Test func `a record with receipts of two uploads is marked by the receipt of its version`() throws {
    let stack = try filled()
    let sent: [FruitRecord] = try stack.manager.fetchRecordsToUpload()
    let receipts = sent.map(\.uploadReceipt)
    try stack.manager.save(
      entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false, from: .here)
    let sentAgain: [FruitRecord] = try stack.manager.fetchRecordsToUpload()
    let all = receipts + sentAgain.map(\.uploadReceipt)
    #expect(try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: all) == [])
    #expect(try uploads(stack) == [])
  }

  @Test(arguments: policies)
  func `an edit stays unmarked when an upload ends before the edit is saved`(name: String) throws {
    let stack = try filled(name)
    let manager = stack.manager
    try meanwhile({ try manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["3"]) }) {
      try manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false, from: .here)
    }
    #expect(try fruit("3", stack)?.name == "Green mango" && uploads(stack).contains("3"))
  }

  @Test(arguments: policies)
  func `a deletion stays unmarked when an upload ends before the deletion is saved`(name: String) throws {
    let stack = try filled(name)
    let manager = stack.manager
    try meanwhile({ try manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["3"]) }) {
      try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["3"])
    }
    let told: [FruitRecord] = try manager.fetchRecordsToDelete()
    #expect(try told.map(\.uid) == ["3"] && manager.purgeDeletedRecords(entity: FruitRecord.self) == 0)
  }

  @Test(arguments: policies)
  func `an edit by another writer survives a concurrent save of the server's values`(name: String) throws {
    let stack = try filled(name, from: .server())
    let manager = stack.manager
    let result = try meanwhile({
      try manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false, from: .here)
    }) {
      try manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Mango fruit")], shouldOverwrite: false,
        from: .server())
    }
    #expect(result.skipped == 1)
    #expect(try fruit("3", stack)?.name == "Green mango" && uploads(stack) == ["3"])
  }

  @Test(arguments: policies)
  func `an edit in a transaction stays unmarked when an upload ends before the transaction's save`(name: String) throws
  {
    let stack = try filled(name)
    let manager = stack.manager
    let error = #expect(throws: CoherenceError.self) {
      try meanwhile({ try manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["3"]) }) {
        try manager.transaction { transaction in
          try transaction.save(
            entity: FruitRecord.self, models: [Fruit(uid: "3", name: "Green mango")], shouldOverwrite: false,
            from: .here)
        }
      }
    }
    #expect(error?.code == .versionConflict)
    #expect(try fruit("3", stack)?.name == "Mango")
  }

  /// Fruits with a uniqueness constraint on the uid.
  private func uniqueFruits() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("FruitRecord", class: FruitRecord.self, uniqueness: [["id"]]) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("isUploaded", .bool, default: false)
        Attribute("wasDeleted", .bool, default: false)
        Attribute("isKnown", .bool, default: false)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a marking save updates the record that another writer inserts with its uid before the commit`(backend: Backend)
    throws
  {
    let stack = try MappingStack(backend, model: uniqueFruits())
    let manager = stack.manager
    let sent = [Fruit(uid: "5", name: "Lime"), Fruit(uid: "6", name: "Fig")]
    let result = try meanwhile({
      try manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "5", name: "Green lime")], shouldOverwrite: false, from: .here)
    }) {
      try manager.save(entity: FruitRecord.self, models: sent, shouldOverwrite: false, from: .server())
    }
    #expect(result.skipped == 1 && result.inserted == 1)
    #expect(try fruit("5", stack)?.name == "Green lime" && uploads(stack) == ["5"])
    let edited = try meanwhile({
      try manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "7", name: "Pear")], shouldOverwrite: false, from: .server())
    }) {
      try manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "7", name: "Ripe pear")], shouldOverwrite: false, from: .here)
    }
    #expect(edited.updated == 1 && edited.inserted == 0)
    #expect(try fruit("7", stack)?.name == "Ripe pear" && uploads(stack) == ["5", "7"])
  }

  @Test func `a save throws for a value that violates a uniqueness constraint in every attempt`() throws {
    let stack = try MappingStack(
      model: ManagedObjectModel {
        Entity("FruitRecord", class: FruitRecord.self, uniqueness: [["name"]]) {
          Attribute("id", .string)
          Attribute("name", .string)
          Attribute("isUploaded", .bool, default: false)
          Attribute("wasDeleted", .bool, default: false)
        }
      })
    let twins = [Fruit(uid: "1", name: "Fig"), Fruit(uid: "2", name: "Fig")]
    let error = #expect(throws: CoherenceError.self) {
      try stack.manager.save(entity: FruitRecord.self, models: twins, shouldOverwrite: false, from: .here)
    }
    #expect(error?.code == .uniquenessViolated)
    #expect(try stack.manager.count(entity: FruitRecord.self) == 0)
  }

  @Test func `an unsaved new record keeps its values when the server's values are saved`() throws {
    let stack = try filled(from: .server())
    let context = stack.manager.workerContext
    try context.performAndWait {
      try FruitRecord(context: context).fromModel(Fruit(uid: "5", name: "Lime"))
      try stack.manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "5", name: "Other")], shouldOverwrite: true, from: .server(),
        context: context)
    }
    #expect(try stack.manager.fetchModels(entity: FruitRecord.self) == [Fruit(uid: "5", name: "Lime")])
    #expect(try uploads(stack) == ["5"])
  }

  @Test func `of two records with one uid, the record with an edit that awaits its upload is kept`() throws {
    let stack = try filled(from: .server())
    try stack.insert(FruitRecord.self, [Fruit(uid: "3", name: "Green mango")])
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: false, from: .server())
    #expect(try fruit("3", stack)?.name == "Green mango" && uploads(stack) == ["3"])
    #expect(try stack.manager.count(entity: FruitRecord.self) == 4)
  }

  @Test(arguments: Backend.available)
  func `of several records with one uid, every record with an edit that awaits its upload is kept`(
    backend: Backend
  ) throws {
    for shouldOverwrite in [false, true] {
      let stack = try MappingStack(backend)
      let manager = stack.manager
      try manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
      let edits = [Fruit(uid: "3", name: "Green mango"), Fruit(uid: "3", name: "Ripe mango")]
      try stack.insert(FruitRecord.self, edits)
      let kept = try manager.save(
        entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: shouldOverwrite, from: .server())
      #expect(kept.deleted == 1 && kept.skipped == 1)
      #expect(try mangos(manager) == ["Green mango", "Ripe mango"])
      let replaced = try manager.save(
        entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: shouldOverwrite, from: .server(.replaced))
      #expect(replaced.deleted == 1 && replaced.skipped == 0)
      #expect(try mangos(manager) == ["Mango"])
    }
  }

  /// The names of the records with the uid "3", in alphabetical order.
  private func mangos(_ manager: PersistenceManager) throws -> [String] {
    try manager.fetchModels(entity: FruitRecord.self).filter { $0.uid == "3" }.map(\.name).sorted()
  }

  @Test(arguments: Backend.available)
  func `saving the model of a record removes its mark of deletion`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let manager = stack.manager
    let origins: [SyncOrigin] = [.here, .server(.replaced)]
    for origin in origins {
      try manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server(.replaced))
      try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["3", "4"])
      let models = [Fruit(uid: "3", name: "Mango"), Fruit(uid: "4", name: "Another")]
      try manager.save(entity: FruitRecord.self, models: models, shouldOverwrite: false, from: origin)
      #expect(try manager.fetchModels(entity: FruitRecord.self, uids: ["3", "4"]) == models)
      #expect(try uploads(stack) == (origin == .here ? ["3", "4"] : []))
    }
    // A deletion before its upload is kept like an edit.
    try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["3"])
    try manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
    #expect(try fruit("3", stack) == nil && uploads(stack) == ["3"])
  }

  @Test(arguments: Backend.available)
  func `a record that is saved again after the upload of its deletion is one to insert on the server`(
    backend: Backend
  ) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try MappingStack(backend)
      try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["3", "4"])
      try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["3"])
      let models = [Fruit(uid: "3", name: "Mango"), Fruit(uid: "4", name: "Blackberry")]
      try stack.manager.save(entity: FruitRecord.self, models: models, shouldOverwrite: false, from: .here)
      let (made, sent): ([FruitRecord], [FruitRecord]) =
        try (stack.manager.fetchRecordsToCreate(), stack.manager.fetchRecordsToUpdate())
      #expect(made.map(\.uid) == ["3"] && Set(sent.map(\.uid)) == ["3", "4"])
    }
  }

  @Test(arguments: Backend.available)
  func `an overwriting save of local models marks records as deleted, for the upload`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
    for deleted in [3, 0] {
      let result = try stack.manager.save(
        entity: FruitRecord.self, models: [Fruit(uid: "1", name: "Durian")], shouldOverwrite: true, from: .here)
      #expect(result.deleted == deleted && result.unchanged == 1)
    }
    #expect(try stack.manager.fetchModels(entity: FruitRecord.self).map(\.uid) == ["1"])
    let told: [FruitRecord] = try stack.manager.fetchRecordsToDelete()
    #expect(Set(told.map(\.uid)) == ["2", "3", "4"])
  }
}
