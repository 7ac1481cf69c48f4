import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@testable import CoherenceOutbox

/// Entries that stay in the store while a migration changes its model.
@Suite("Entries and migrations", .timeLimit(.minutes(15)))
struct MigrationTests {
  @Test(arguments: Backend.availableSQL)
  func `an entry has the new names of a renamed entity and a renamed attribute`(backend: Backend) async throws {
    let old = try OutboxStack(on: backend)
    let item = try old.saveItem("Milk")
    let renamed = TestItem.entityDescription(
      name: "TestTask", formerName: "TestItem",
      attributes: [
        Attribute("label", .string, renamingIdentifier: "title"), Attribute("count", .int64, default: Int64(0)),
      ])
    let new = try old.next(model: OutboxModels.model(item: renamed), entities: ["TestTask"])
    let entry = try #require(try await new.outbox.entries().first)
    #expect(entry.entityName == "TestTask" && entry.recordedEntityName == "TestItem" && entry.isEntityKnown)
    #expect(entry["label"]?.value == .value(.string("Milk")) && entry["label"]?.recordedName == "title")
    #expect(entry.unknownProperties == [])
    let id = try #require(entry.recordID)
    #expect(id.key == item.key && id.entity.name == "TestTask")
    #expect(try await new.outbox.entries(in: "TestTask").map(\.id) == [entry.id])
    #expect(try await new.outbox.entries(of: id).map(\.id) == [entry.id])
    // An edit after the migration belongs to the same record.
    try new.save { try $0.existingObject(with: id).setValue("Bread", for: "label") }
    let step = try #require(try steps(new).first)
    #expect(step.kind == .insert && step.entries.count == 2)
    #expect(step.changes.first { $0.name == "label" }?.value == .value(.string("Bread")))
  }

  @Test(arguments: Backend.availableSQL)
  func `the value of a removed attribute stays in the entry and is reported`(backend: Backend) async throws {
    let old = try OutboxStack(on: backend)
    let id = try old.saveItem("Milk")
    try old.change(id) { $0.count = 3 }
    let without = TestItem.entityDescription(attributes: [Attribute("title", .string)])
    let new = try old.next(model: OutboxModels.model(item: without))
    let entries = try await new.outbox.entries()
    #expect(entries.map(\.unknownProperties) == [["count"], ["count"]])
    #expect(entries.last?["count"]?.value == .value(.int(3)) && entries.last?["count"]?.isKnown == false)
    #expect(try steps(new).map(\.entries.count) == [2])
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry has the values of a converted attribute in the new type`(backend: Backend) async throws {
    let new = try next(
      backend,
      count: Attribute(
        "count", .string, default: "",
        converting: { old in
          guard case .int(let number) = old else { return .null }
          return .string("\(number) pieces")
        }))
    let (before, after) = (OutboxValue.value(.string("0 pieces")), OutboxValue.value(.string("3 pieces")))
    let entries = try await new.outbox.entries()
    #expect(entries.first?["count"] == OutboxChange("count", value: before))
    #expect(entries.last?["count"] == OutboxChange("count", base: before, value: after))
    #expect(try steps(new).map { $0.changes.first { $0.name == "count" }?.value } == [after])
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry has the values of a text that became an enumeration as cases of the enumeration`(
    backend: Backend
  ) async throws {
    let old = try OutboxStack(on: backend)
    let id = try old.saveItem("Milk")
    try old.change(id) { $0.title = "Bread" }
    let title = Attribute(
      "title", .enumeration(raw: .string, cases: [.string("milk"), .string("bread")]),
      converting: { old in
        if case .string(let text) = old { .string(text.lowercased()) } else { .null }
      })
    let changed = TestItem.entityDescription(attributes: [title, Attribute("count", .int64, default: Int64(0))])
    let new = try old.next(model: OutboxModels.model(item: changed))
    let entries = try await new.outbox.entries()
    let (before, after) = (OutboxValue.value(.string("milk")), OutboxValue.value(.string("bread")))
    #expect(entries.first?["title"] == OutboxChange("title", value: before))
    #expect(entries.last?["title"] == OutboxChange("title", base: before, value: after))
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry has the number of an attribute with another type of numbers`(backend: Backend) async throws {
    let new = try next(backend, count: Attribute("count", .double, default: 0.0))
    let (before, after) = (OutboxValue.value(.double(0)), OutboxValue.value(.double(3)))
    let entries = try await new.outbox.entries()
    #expect(entries.first?["count"] == OutboxChange("count", value: before))
    #expect(entries.last?["count"] == OutboxChange("count", base: before, value: after))
  }

  /// The next version of a program that has saved an item with the count 0 and then 3.
  private func next(_ backend: Backend, count: Attribute) throws -> OutboxStack {
    let old = try OutboxStack(on: backend)
    let id = try old.saveItem("Milk")
    try old.change(id) { $0.count = 3 }
    let changed = TestItem.entityDescription(attributes: [Attribute("title", .string), count])
    return try old.next(model: OutboxModels.model(item: changed))
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry leaves out an attribute that the server assigns since the migration`(backend: Backend) async throws {
    let old = try OutboxStack(on: backend)
    let id = try old.saveItem("Milk")
    try old.change(id) { $0.count = 3 }
    let assigned = TestItem.entityDescription(
      attributes: [
        Attribute("title", .string),
        Attribute("count", .int64, default: Int64(0), userInfo: [Outbox.serverAssignedSetting: "true"]),
      ])
    let new = try old.next(
      model: OutboxModels.model(item: assigned), entities: ["TestList", "TestItem", "TestTag"])
    let entries = try await new.outbox.entries()
    #expect(entries.map(\.kind) == [.insert, .update])
    #expect(entries[0]["title"] != nil && entries.allSatisfy { $0["count"] == nil })
    #expect(try steps(new).map { $0.changes.contains { $0.name == "count" } } == [false])
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry of a removed entity stays and can be dropped`(backend: Backend) async throws {
    let old = try OutboxStack(on: backend)
    try old.saveItem("Milk")
    let new = try old.next(model: OutboxModels.model(item: nil))
    let entry = try #require(try await new.outbox.entries().first)
    #expect(!entry.isEntityKnown && entry.entityName == "TestItem" && entry.recordID == nil)
    #expect(entry["title"]?.value == .value(.string("Milk")))
    #expect(try await new.outbox.entries(in: "TestItem").count == 1)
    #expect(try await new.outbox.drop(entry.id) == 1)
    #expect(try await new.outbox.counts().total == 0)
  }

  @Test(arguments: Backend.availableSQL)
  func `a program with an earlier model leaves the entries of unknown entities to the later program`(
    backend: Backend
  ) async throws {
    let earlier = OutboxModels.model(item: nil)
    let first = try OutboxStack(on: backend, model: earlier, entities: ["TestList", "TestTag"])
    let later = try first.next(model: OutboxModels.main, entities: ["TestList", "TestItem", "TestTag"])
    for title in ["Milk", "Bread", "Tea"] { try later.saveItem(title) }
    try later.saveList("Shop")
    let stack = try later.next(model: earlier)
    #expect(try await forward(stack) == 3)
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.recordedEntityName) == ["TestItem", "TestItem", "TestItem"])
    #expect(entries.allSatisfy { $0.state == .pending && $0.attempts == 0 })
  }

  @Test(arguments: Backend.availableSQL)
  func `an open program leaves the entries of a subentity that a later program adds to the later program`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let offer = Entity("TestOffer", parent: "TestTag") { Attribute("price", .int64, optional: true) }
    let later = try stack.another(model: OutboxModels.model(others: [offer]))
    try later.save { try $0.insertNewObject(forEntityName: "TestOffer").setValue("Milk", for: "name") }
    try later.saveList("Shop")
    #expect(try await forward(stack) == 1)
    let entry = try #require(try await stack.outbox.entries().first)
    #expect(entry.recordedEntityName == "TestOffer" && !entry.isEntityKnown)
    #expect(entry.state == .pending && entry.attempts == 0)
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry waits in a program whose unseen model lacks the entity, until a program with the entity sends it`(
    backend: Backend
  ) async throws {
    let first = try OutboxStack(on: backend)
    try first.saveItem("Milk")
    let unseen = try first.next(model: OutboxModels.model(item: nil))
    #expect(try await forward(unseen) == 1)
    let entry = try #require(try await unseen.outbox.entries().first)
    #expect(!entry.isEntityKnown && entry.state == .pending && entry.attempts == 0 && entry.lastError == nil)
    let again = try unseen.next(model: OutboxModels.main, entities: ["TestList", "TestItem", "TestTag"])
    let sent = SentValues()
    #expect(try await forward(again, items: sent) == 0)
    #expect(sent.values.map { $0["title"] } == [.string("Milk")])
  }

  /// A later version of the main model, with a further attribute of items.
  private static let withNotes = OutboxModels.model(
    item: TestItem.entityDescription(
      attributes: [
        Attribute("title", .string), Attribute("count", .int64, default: Int64(0)),
        Attribute("note", .string, optional: true),
      ]))

  @Test(arguments: Backend.availableSQL)
  func `a program with an earlier model leaves edits with unknown properties to the later program`(
    backend: Backend
  ) async throws {
    let first = try OutboxStack(on: backend)
    try first.saveItem("Bread")
    let later = try first.next(model: Self.withNotes, entities: ["TestList", "TestItem", "TestTag"])
    try later.save { context in
      let item = try context.insertNewObject(forEntityName: "TestItem")
      try item.setValue("Milk", for: "title")
      try item.setValue("fresh", for: "note")
    }
    let earlier = try later.next(model: OutboxModels.main, entities: ["TestList", "TestItem", "TestTag"])
    let (sentEarlier, sentLater) = (SentValues(), SentValues())
    #expect(try await forward(earlier, items: sentEarlier) == 1)
    #expect(sentEarlier.values.map { $0["title"] } == [.string("Bread")])
    let entry = try #require(try await earlier.outbox.entries().first)
    #expect(entry.unknownProperties == ["note"] && entry.state == .pending && entry.attempts == 0)
    // Edits of known properties are the earlier program's own.
    try earlier.save { context in
      let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "TestItem"))
      for item in items {
        if try item.value(for: "title") == .string("Bread") { try item.setValue(Int64(2), for: "count") }
      }
    }
    #expect(try await forward(earlier, items: sentEarlier) == 1)
    #expect(sentEarlier.values.last == ["count": .int(2)])
    let again = try earlier.next(model: Self.withNotes, entities: ["TestList", "TestItem", "TestTag"])
    #expect(try await forward(again, items: sentLater) == 0)
    #expect(sentLater.values.map { $0["note"] } == [.string("fresh")])
  }

  @Test(arguments: Backend.availableSQL)
  func `a program whose store a program with unknown properties has opened since leaves their edits to that program`(
    backend: Backend
  ) async throws {
    let later = try OutboxStack(on: backend, model: Self.withNotes)
    // The model without notes is unseen, so that its record follows the record of the later model.
    let earlier = try later.next(model: OutboxModels.main, entities: ["TestList", "TestItem", "TestTag"])
    let again = try earlier.another(model: Self.withNotes)
    try again.save { context in
      let item = try context.insertNewObject(forEntityName: "TestItem")
      try item.setValue("Milk", for: "title")
      try item.setValue("fresh", for: "note")
    }
    let sent = SentValues()
    #expect(try await forward(earlier, items: sent) == 1)
    #expect(sent.values.isEmpty)
    #expect(try await forward(again, items: sent) == 0)
    #expect(sent.values.map { $0["note"] } == [.string("fresh")])
  }

  /// The values that a handler of items was called with.
  private final class SentValues: Sendable {
    private let collected = Mutex<[[String: AttributeValue]]>([])

    var values: [[String: AttributeValue]] { collected.withLock { $0 } }

    func add(_ values: [String: AttributeValue]) { collected.withLock { $0.append(values) } }
  }

  @Test(arguments: Backend.availableSQL)
  func `an entry of an entity that the store does not hold any more names no record, and is sent`(
    backend: Backend
  ) async throws {
    let old = try OutboxStack(on: backend)
    try old.save { try $0.insertNewObject(forEntityName: "TestPerson").setValue("Ann", for: "name") }
    // The configuration leaves the people to another store.
    let new = try old.next(model: OutboxModels.main, entities: ["TestList", "TestPerson"], holding: "Main")
    let entry = try #require(try await new.outbox.entries().first)
    #expect(entry.entityName == "TestPerson" && entry.isEntityKnown && entry.recordID == nil)
    #expect(entry["name"]?.value == .value(.string("Ann")))
    try new.outbox.forward("TestPerson") { handlers in handlers.insert { _ in .accepted } }
    #expect(try await forward(new) == 0)
  }

  @Test(arguments: Backend.availableSQL)
  func `a deletion in an entity that the store does not hold any more gives way to the server once`(
    backend: Backend
  ) async throws {
    let old = try OutboxStack(on: backend)
    try old.save { context in
      context.recordsChanges = false
      try context.insertNewObject(forEntityName: "TestPerson").setValue("Ann", for: "name")
    }
    try old.save { context in
      for person in try context.fetch(FetchRequest<ManagedObject>(entityName: "TestPerson")) { context.delete(person) }
    }
    // The configuration leaves the people to another store.
    let new = try old.next(model: OutboxModels.main, entities: ["TestList", "TestPerson"], holding: "Main")
    let attempts = Mutex<[Int]>([])
    try new.outbox.forward("TestPerson") { handlers in
      handlers.delete { request in
        attempts.withLock { $0.append(request.attempt) }
        return request.attempt == 1 ? .conflict(["name": "Eve"]) : .accepted
      }
    }
    try new.outbox.start(ForwardOptions(conflictPolicy: .acceptServer))
    #expect(try await new.outbox.flush() == 0)
    await new.outbox.stop()
    #expect(attempts.withLock { $0 } == [1])
  }

  /// Starts an outbox with a handler for lists, one call at a time, sends every sendable edit, and stops.
  ///
  /// - Parameter items: Receives the values of sent items; `nil` for an outbox without a handler for items.
  /// - Returns: The number of remaining entries.
  private func forward(_ stack: OutboxStack, items: SentValues? = nil) async throws -> Int {
    try stack.outbox.forward("TestList") { handlers in handlers.insert { _ in .accepted } }
    if let items {
      try stack.outbox.forward("TestItem") { handlers in
        handlers.insert { request in
          items.add(request.values)
          return .accepted
        }
        handlers.update { request in
          items.add(request.values)
          return .accepted
        }
      }
    }
    try stack.outbox.start(ForwardOptions(concurrency: 1, lookahead: 0))
    let rest = try await stack.outbox.flush()
    await stack.outbox.stop()
    return rest
  }

  @Test(arguments: Backend.availableSQL)
  func `a store from before the outbox gets its tables and keeps its records`(backend: Backend) async throws {
    let directory = TemporaryDirectory()
    let configuration = backend.newConfiguration()
    let plain = try ManagedObjectModel(name: "OutboxTests", entities: [Entity("Thing") { Attribute("name", .string) }])
    let before = StrategyKind.direct.makeContainer(plain, in: directory)
    let store = try before.attachPersistentStore(for: configuration)
    let context = before.newBackgroundContext()
    try context.performAndWait {
      try context.insertNewObject(forEntityName: "Thing").setValue("old", for: "name")
      try context.save()
    }
    try before.detach(persistentStore: store)
    let after = StrategyKind.direct.makeContainer(try plain.addingOutbox(), in: directory)
    try after.attachPersistentStore(for: configuration)
    let outbox = try Outbox(after, entities: ["Thing"])
    let later = after.newBackgroundContext()
    try later.performAndWait {
      let thing = try #require(try later.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).first)
      try thing.setValue("new", for: "name")
      try later.save()
    }
    let change = OutboxChange("name", base: .value(.string("old")), value: .value(.string("new")))
    #expect(try await outbox.entries().map(\.changes) == [[change]])
  }

  private func steps(_ stack: OutboxStack) throws -> [OutboxStep] {
    let context = stack.outbox.newContext()
    try stack.outbox.makeEntries()
    return try context.performAndWait { try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10).steps }
  }
}
