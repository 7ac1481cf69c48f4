import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// The entries that saves add.
@Suite("Recording changes", .timeLimit(.minutes(15)))
struct RecordingTests {
  private func value(_ entry: OutboxEntry?, _ name: String) -> AttributeValue? {
    entry?[name]?.value?.attributeValue
  }

  @Test(arguments: Backend.available)
  func `a save adds an entry for each changed record, with the values before and after`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let id = try stack.saveItem("Milk")
    try stack.change(id) { $0.count = 3 }
    try stack.delete(id)
    let entries = try await stack.outbox.entries(of: id)
    #expect(entries.map(\.kind) == [.insert, .update, .delete])
    #expect(entries.allSatisfy { $0.recordID == id && $0.entityName == "TestItem" && $0.isReadable })
    #expect(entries.allSatisfy { $0.state == .pending && $0.attempts == 0 && $0.enqueuedDate == stack.clock.now })
    #expect(entries.map(\.sequence) == entries.map(\.sequence).sorted())
    #expect(Set(entries.map(\.idempotencyKey)).count == 3)
    #expect(value(entries.first, "title") == .string("Milk") && value(entries.first, "photo") == .null)
    #expect(entries.first?["title"]?.base == nil)
    let update = try #require(entries.dropFirst().first)
    #expect(update.changes == [OutboxChange("count", base: .value(.int(0)), value: .value(.int(3)))])
    #expect(entries.last?["count"] == OutboxChange("count", base: .value(.int(3))))
    #expect(try await stack.outbox.entries().map(\.id) == entries.map(\.id))
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `saves of the view and of background contexts are recorded once in every strategy`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend, strategy: strategy)
    let view = stack.container.viewContext
    let id = try await view.perform {
      let item = try TestItem(context: view)
      item.title = "Milk"
      try view.save()
      return item.objectID
    }
    try stack.change(id) { $0.title = "Bread" }
    #expect(try await stack.outbox.entries().map(\.kind) == [.insert, .update])
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 2))
  }

  @Test(arguments: Backend.available)
  func `a save that fails adds no entry`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveList("Home")
    let context = stack.container.newBackgroundContext()
    context.performAndWait {
      #expect(throws: CoherenceError.self) {
        try TestItem(context: context).title = "Milk"
        // The uniqueness constraint refuses the second list with the name.
        try TestList(context: context).name = "Home"
        try context.save()
      }
    }
    #expect(try await stack.outbox.entries().map(\.entityName) == ["TestList"])
  }

  @Test(arguments: Backend.available)
  func `unforwarded entities add no entries, and entities with the setting in their user info do`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend, entities: ["TestList"])
    try stack.saveItem("Milk")
    try stack.save { context in
      _ = try context.insertNewObject(forEntityName: "TestNote")
      try context.insertNewObject(forEntityName: "TestPerson").setValue("Ada", for: "name")
      try context.insertNewObject(forEntityName: "TestEmployee").setValue("Grace", for: "name")
    }
    #expect(Set(try await stack.outbox.entries().map(\.entityName)) == ["TestPerson", "TestEmployee"])
    #expect(try await stack.outbox.entries(in: "TestEmployee").count == 1)
    #expect(try await stack.outbox.entries(in: "TestPerson").count == 2)
    #expect(stack.outbox.entityNames == ["TestList", "TestPerson", "TestEmployee"])
  }

  @Test func `the saves of the context of an action are not recorded`() async throws {
    let directory = TemporaryDirectory()
    let connect = GenericConnect<ContextStrategy.IndirectNested>(
      name: "Outbox", managedObjectModel: OutboxModels.main, storeLocation: directory.url)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let outbox = try Outbox(connect, entities: ["TestList"])
    let context = connect.newActionContext()
    try context.performAndWait {
      try TestList(context: context).name = "Server"
      try context.save()
    }
    #expect(try await outbox.counts().total == 0)
    try await connect.stop()
  }

  @Test(arguments: Backend.available)
  func `an entry names the author, the identifying values and the records that it refers to`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let context = stack.container.newBackgroundContext()
    context.transactionAuthor = "importer"
    let list = try context.performAndWait {
      let list = try TestList(context: context)
      list.name = "Home"
      let item = try TestItem(context: context)
      item.title = "Milk"
      item.list = list
      try context.save()
      return list.objectID
    }
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.author) == ["importer", "importer"])
    #expect(Set(entries.map(\.transaction)).count == 1)
    let insert = try #require(entries.first { $0.entityName == "TestList" })
    #expect(insert.identity == ["name": .string("Home")] && insert.members.isEmpty)
    let item = try #require(entries.first { $0.entityName == "TestItem" })
    #expect(item["list"]?.value == .record(OutboxRecord(rootName: "TestList", key: list.key)))
    #expect(item["list"]?.value?.record?.objectID(in: stack.store) == list)
    try stack.save { context in
      (try context.existingObject(with: list) as? TestList)?.name = "Office"
    }
    #expect(try await stack.outbox.entries(of: list).last?.identity == ["name": .string("Home")])
  }

  @Test(arguments: Backend.available)
  func `members of a many-to-many relationship are recorded on one side`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    try stack.save { context in
      let tag = try context.insertNewObject(forEntityName: "TestTag")
      try tag.setValue("cold", for: "name")
      (try context.existingObject(with: item) as? TestItem)?.tags.insert(tag)
    }
    let entries = try await stack.outbox.entries()
    let members = entries.flatMap(\.members)
    #expect(members.count == 1 && members.first?.added.count == 1 && members.first?.removed == [])
  }

  @Test(arguments: Backend.available)
  func `a large value is kept whole beside the entry, and left out of lists`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let photo = Data((0..<10_000_000).map { UInt8(truncatingIfNeeded: $0) })
    let id = try stack.saveItem("Milk")
    try stack.change(id) { $0.photo = photo }
    let listed = try #require(try await stack.outbox.entries(of: id).last)
    #expect(listed.hasOmittedValues && listed["photo"]?.value == .omitted(byteCount: 10_000_000))
    let whole = try await stack.outbox.entry(listed.id)
    #expect(!whole.hasOmittedValues && whole["photo"]?.value == .value(.data(photo)))
    try stack.delete(id)
    let delete = try #require(try await stack.outbox.entries(of: id).last)
    #expect(delete["photo"]?.base == .omitted(byteCount: 10_000_000))
    // The large content is deleted with its entry.
    #expect(try await stack.outbox.drop(listed.id) == 1)
    let left = try stack.save { try $0.count(for: FetchRequest<ManagedObject>(entityName: "CoherenceOutboxContent")) }
    #expect(left == 0)
  }

  @Test func `a model without the entities of an outbox is refused with an error that names the missing call`() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Plain", managedObjectModel: model)
    #expect {
      try Outbox(container, entities: ["Thing"])
    } throws: { error in
      ErrorCode.invalidModel ~= error && "\(error)".contains("addingOutbox()")
    }
    let added = try model.addingOutbox()
    #expect(try added.addingOutbox() === added)
    #expect(added.entitiesByName["Thing"]?.versionHash == model.entitiesByName["Thing"]?.versionHash)
  }

  @Test func `an unknown entity is refused, and so is a second outbox for other entities`() throws {
    let stack = try OutboxStack(on: .inMemory)
    #expect { try Outbox(stack.container, entities: ["Nothing"]) } throws: { ErrorCode.unknownEntity ~= $0 }
    #expect { try Outbox(stack.container, entities: ["TestTag"]) } throws: { ErrorCode.illegalState ~= $0 }
    stack.outbox.close()
    _ = try Outbox(stack.container, entities: ["TestTag"])
  }

  @Test func `a second outbox for the same entities adds no second entry, and a closed outbox adds no entry`()
    async throws
  {
    let stack = try OutboxStack(on: .inMemory)
    let second = try Outbox(stack.container, entities: ["TestList", "TestItem", "TestTag"])
    try stack.saveItem("Milk")
    #expect(try await second.counts().total == 1)
    second.close()
    try stack.saveItem("Bread")
    #expect(try await second.counts().total == 1)
  }

  @Test func `sequences ascend when the clock is set back`() async throws {
    let stack = try OutboxStack(on: .inMemory)
    try stack.saveItem("Milk")
    stack.clock.now = Date(timeIntervalSince1970: 1_000_000)
    try stack.saveItem("Bread")
    let entries = try await stack.outbox.entries()
    #expect(entries.map { $0["title"]?.value } == [.value(.string("Milk")), .value(.string("Bread"))])
  }
}
