import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The keys of entities with a superentity.
@Suite("Keys of subentities")
struct SubentityKeyTests {
  /// One model for all stacks, because an in-memory store is opened with one model at a time. Each subentity of an
  /// abstract entity has keys of its own: an invoice and a receipt may have the same number.
  private static let model = Result {
    try ManagedObjectModel {
      Entity("Document", isAbstract: true, userInfo: [EntityDescription.keySetting: "number"]) {
        Attribute("number", .int64, optional: true)
        Attribute("text", .string, default: "")
      }
      Entity("Invoice", parent: "Document")
      Entity("Receipt", parent: "Document")
      Entity("Work") { Attribute("text", .string, default: "") }
      Entity("Book", parent: "Work", userInfo: [EntityDescription.keySetting: "number"]) {
        Attribute("number", .int64, optional: true)
      }
    }.addingOutbox()
  }

  /// A started Connect with one store, and an outbox for all entities of the model.
  private struct Stack {
    let directory = TemporaryDirectory()
    let connect: GenericConnect<ContextStrategy.Mixed>
    let outbox: Outbox

    init(_ backend: Backend) throws {
      connect = GenericConnect(
        name: "Documents", managedObjectModel: try SubentityKeyTests.model.get(), storeLocation: directory.url)
      try connect.attachPersistentStore(for: backend.newConfiguration())
      outbox = try Outbox(connect, entities: ["Document", "Work"])
      try connect.start()
    }

    /// Merges a record of the server with the number 1.
    func merge(_ text: String, into name: String, _ policy: MergeOptions.PendingEditsPolicy = .keepLocal) throws {
      try connect.newActionContext().merge(
        records: [MergeRecord(["number": 1, "text": text])], for: connect.managedObjectModel.entity(named: name),
        options: MergeOptions(pendingEdits: policy))
    }

    /// Changes records in a context of the user, and saves.
    func edit(_ body: (ManagedObjectContext) throws -> Void) throws {
      try connect.newBackgroundContext().saving(body)
    }

    func deleteAll(_ name: String) throws {
      try edit { context in
        for record in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) { context.delete(record) }
      }
    }

    /// The texts of the records of an entity.
    func texts(_ name: String) throws -> [String] {
      let context = connect.newBackgroundContext()
      return try context.performAndWait {
        try context.fetch(FetchRequest<ManagedObject>(entityName: name)).map {
          try $0.value(for: "text", as: String.self)
        }
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a deleted record is restored beside a record of another entity with the same key`(
    backend: Backend
  ) async throws {
    let stack = try Stack(backend)
    try stack.merge("old", into: "Invoice")
    try stack.merge("receipt", into: "Receipt")
    try stack.deleteAll("Invoice")
    try stack.merge("theirs", into: "Invoice", .conflict)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .values(["text": "both"]))
    #expect(try stack.texts("Invoice") == ["both"])
    #expect(try stack.texts("Receipt") == ["receipt"])
  }

  @Test(arguments: Backend.available)
  func `a key that the server assigns leaves a record of another entity with the same key in the store`(
    backend: Backend
  ) async throws {
    let stack = try Stack(backend)
    try stack.merge("receipt", into: "Receipt")
    try stack.outbox.forward("Invoice") { handlers in
      handlers.insert { _ in
        return ForwardAnswer.accepted(["number": Int64(1)])
      }
    }
    try stack.edit { context in
      try context.insertNewObject(forEntityName: "Invoice").setValue("new", for: "text")
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(try stack.texts("Invoice") == ["new"])
    #expect(try stack.texts("Receipt") == ["receipt"])
  }

  @Test(arguments: Backend.available)
  func `a new record with the key of a deleted one becomes an edit if the key is that of a subentity`(
    backend: Backend
  ) async throws {
    let stack = try Stack(backend)
    try stack.merge("old", into: "Book")
    try stack.deleteAll("Book")
    try stack.merge("theirs", into: "Book", .conflict)
    try stack.edit { context in
      let book = try context.insertNewObject(forEntityName: "Book")
      try book.setValue(Int64(1), for: "number")
      try book.setValue("mine", for: "text")
    }
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.texts("Book") == ["mine"])
    #expect(try await stack.outbox.entries().map(\.kind) == [.update])
  }
}
