import CoherenceCore
import CoherenceInMemory
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Lists and numbers of entries.
@Suite("Listing entries", .timeLimit(.minutes(15)))
struct ListingTests {
  @Test(arguments: Backend.available)
  func `consecutive pages have every entry exactly once`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.save { context in
      for number in 0..<25 { try TestItem(context: context).title = "Item \(number)" }
    }
    for number in 0..<5 { try stack.saveList("List \(number)") }
    let all = try await stack.outbox.entries(limit: 1000)
    #expect(all.count == 30)
    var paged: [OutboxEntry.ID] = []
    var cursor: OutboxCursor?
    repeat {
      let page = try await stack.outbox.entries(limit: 7, after: cursor)
      paged += page.map(\.id)
      cursor = page.last?.cursor
    } while cursor != nil
    #expect(paged == all.map(\.id))
    let lists = try await stack.outbox.entries(in: "TestList", limit: 3)
    let more = try await stack.outbox.entries(in: "TestList", limit: 3, after: try #require(lists.last).cursor)
    #expect(lists.count == 3 && more.count == 2)
    #expect((lists + more).map(\.id) == all.filter { $0.entityName == "TestList" }.map(\.id))
    #expect(try await stack.outbox.entries(limit: 0).isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a page of entries with a negative limit is refused`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    await #expect {
      try await stack.outbox.entries(limit: -1)
    } throws: {
      ErrorCode.invalidFetchRequest ~= $0
    }
  }

  @Test(arguments: Backend.available)
  func `entries are listed and counted by state and entity`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    try stack.saveItem("Bread")
    try stack.saveList("Home")
    let first = try #require(try await stack.outbox.entries().first)
    try await stack.outbox.park(first.id, error: "refused")
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 2, parked: 1))
    #expect(try await stack.outbox.counts(in: "TestItem") == OutboxCounts(pending: 1, parked: 1))
    #expect(try await stack.outbox.counts(in: "Unknown") == OutboxCounts())
    #expect(try await stack.outbox.entries(state: .parked).map(\.id) == [first.id])
    #expect(try await stack.outbox.entries(in: "TestList", state: .parked).isEmpty)
    #expect(try await stack.outbox.entry(first.id).lastError == "refused")
  }

  @Test func `an outbox names the entities that it forwards: those of its initializer, and those with the setting`()
    throws
  {
    let stack = try OutboxStack(on: .inMemory)
    let entities = stack.outbox.coordinator.managedObjectModel.entities
    let forwarded = Set(entities.filter { stack.outbox.forwards($0) }.map(\.name))
    #expect(forwarded.isSuperset(of: ["TestList", "TestItem", "TestTag", "TestPerson"]))
    #expect(!forwarded.contains("TestNote"))
  }

  @Test func `an entry is found by the text of its identifier, and a dropped entry is an error`() async throws {
    let stack = try OutboxStack(on: .inMemory)
    try stack.saveItem("Milk")
    let entry = try #require(try await stack.outbox.entries().first)
    let id = try #require(stack.outbox.coordinator.objectID(forDescription: entry.id.description))
    #expect(try await stack.outbox.entry(id).idempotencyKey == entry.idempotencyKey)
    try await stack.outbox.drop(id)
    await #expect {
      try await stack.outbox.entry(id)
    } throws: {
      ErrorCode.objectNotFound ~= $0
    }
    // The identifier of another entity's record is not the identifier of an entry.
    let list = try stack.saveList("Home")
    await #expect {
      try await stack.outbox.entry(list)
    } throws: {
      ErrorCode.objectNotFound ~= $0
    }
  }

  @Test func `one list has the entries of several stores`() async throws {
    let directory = TemporaryDirectory()
    let container = StrategyKind.direct.makeContainer(OutboxModels.main, in: directory)
    let main = try container.attachPersistentStore(for: StoreConfiguration(name: "Main", type: .inMemory))
    let other = try container.attachPersistentStore(for: StoreConfiguration(name: "Other", type: .inMemory))
    let outbox = try Outbox(container, entities: ["TestList"])
    let context = container.newBackgroundContext()
    try context.performAndWait {
      try TestList(context: context).name = "Home"
      try context.insertNewObject(forEntityName: "TestPerson").setValue("Ada", for: "name")
      try context.save()
    }
    let entries = try await outbox.entries()
    #expect(Set(entries.map(\.entityName)) == ["TestList", "TestPerson"])
    #expect(entries.first { $0.entityName == "TestList" }?.id.storeIdentifier == main.identifier)
    #expect(entries.first { $0.entityName == "TestPerson" }?.id.storeIdentifier == other.identifier)
    #expect(entries.allSatisfy { $0.id.storeIdentifier == $0.recordID?.storeIdentifier })
    let second = try await outbox.entries(limit: 1, after: try #require(entries.first).cursor)
    #expect(second.map(\.id) == [entries[1].id])
  }
}
