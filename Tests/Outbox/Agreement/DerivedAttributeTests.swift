import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

/// Derived attributes of a forwarded entity: values that saves compute, and that no server and no user can assign.
@Suite("Derived attributes of forwarded records", .timeLimit(.minutes(15)))
struct DerivedAttributeTests {
  /// A started Connect with notes and their tags, and an outbox for the notes.
  private struct Stack {
    let directory = TemporaryDirectory()
    let connect: GenericConnect<ContextStrategy.Mixed>
    let outbox: Outbox

    init(_ backend: Backend) throws {
      let model = try ManagedObjectModel {
        Entity("Note", userInfo: ["uniquenessAttributes": "id"]) {
          Attribute("id", .int64, default: Int64(0))
          Attribute("foldedTitle", .string, derived: .canonical("title"))
          Attribute("title", .string, default: "")
          Attribute("savedAt", .date, derived: .now)
          Attribute("tagCount", .int64, derived: .count("tags"))
          Attribute("revision", .int64, default: Int64(0), userInfo: [Outbox.serverAssignedSetting: "true"])
          Relationship("tags", toMany: "Tag", inverse: "note")
        }
        Entity("Tag", userInfo: ["uniquenessAttributes": "id"]) {
          Attribute("id", .int64, default: Int64(0))
          Relationship("note", toOne: "Note", inverse: "tags")
        }
      }.addingOutbox()
      connect = GenericConnect(name: "Notes", managedObjectModel: model, storeLocation: directory.url)
      try connect.attachPersistentStore(for: backend.newConfiguration())
      outbox = try Outbox(connect, entities: ["Note"])
      try connect.start()
    }

    /// Merges the note 1 of the server.
    @discardableResult
    func merge(_ title: String, revision: Int64 = 1) throws -> MergeResult {
      try connect.newActionContext().merge(
        records: [MergeRecord(["id": 1, "title": title, "revision": revision])],
        for: connect.managedObjectModel.entity(named: "Note"), options: MergeOptions(pendingEdits: .conflict))
    }

    /// Changes a context of the user, and saves.
    func edit(_ body: (ManagedObjectContext) throws -> Void) throws {
      try connect.newBackgroundContext().saving(body)
    }

    func insert(_ title: String) throws {
      try edit { context in
        let note = try context.insertNewObject(forEntityName: "Note")
        try note.setValue(Int64(1), for: "id")
        try note.setValue(title, for: "title")
      }
    }

    func deleteNotes() throws {
      try edit { context in
        for note in try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")) { context.delete(note) }
      }
    }

    /// The folded titles of all notes.
    func foldedTitles() throws -> [String?] {
      let context = connect.newBackgroundContext()
      return try context.performAndWait {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map {
          try $0.value(for: "foldedTitle", as: String?.self)
        }
      }
    }
  }

  @Test(arguments: Backend.available)
  func `entries have no derived values, and requests have none either`(backend: Backend) async throws {
    let stack = try Stack(backend)
    let names = Mutex<[Set<String>]>([])
    try stack.outbox.forward("Note") { handlers in
      handlers.insert { request in
        names.withLock { $0.append(Set(request.values.keys)) }
        return .accepted
      }
      handlers.delete { request in
        names.withLock { $0.append(Set(request.base.keys)) }
        return .accepted
      }
    }
    try stack.insert("Éclat")
    let changes = try await stack.outbox.entries().flatMap(\.changes)
    #expect(changes.map(\.name).sorted() == ["id", "title"])
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    try stack.deleteNotes()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(names.withLock { $0 } == [["id", "title"], ["id", "title", "revision"]])
  }

  @Test(arguments: Backend.available)
  func `a record that both sides inserted with equal values is in no conflict`(backend: Backend) async throws {
    let stack = try Stack(backend)
    try stack.insert("Éclat")
    #expect(try stack.merge("Éclat").pendingConflicts == 0)
    #expect(try await stack.outbox.entries().isEmpty)
    #expect(try stack.foldedTitles() == ["eclat"])
  }

  @Test(arguments: Backend.available, ["server", "values"])
  func `a record that the user deleted is restored from a conflict, and has derived values`(
    backend: Backend, decision: String
  ) async throws {
    let stack = try Stack(backend)
    try stack.merge("Éclat")
    try stack.deleteNotes()
    #expect(try stack.merge("Été").pendingConflicts == 1)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["title"])
    try await stack.outbox.resolve(conflict.id, keeping: decision == "server" ? .server : .values(["title": "Août"]))
    #expect(try stack.foldedTitles() == [decision == "server" ? "ete" : "aout"])
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `the derived values of a reply have no effect`(backend: Backend) async throws {
    let stack = try Stack(backend)
    try stack.insert("Éclat")
    try stack.outbox.forward("Note") { handlers in
      handlers.insert { _ in .accepted(["title": "Été", "foldedTitle": "summer", "tagCount": 7]) }
      handlers.delete { request in
        // The server's record differs in values alone that the server or a save computes.
        if request.assigned["revision"] == .int(2) { return .accepted }
        return .conflict(["id": 1, "title": "Été", "tagCount": 7, "revision": 2])
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    #expect(try stack.foldedTitles() == ["ete"])
    try stack.deleteNotes()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `a deletion that the server refuses for its revision alone is sent again`(backend: Backend) async throws {
    let stack = try Stack(backend)
    try stack.merge("Éclat")
    try stack.deleteNotes()
    let revisions = Mutex<[AttributeValue?]>([])
    try stack.outbox.forward("Note") { handlers in
      handlers.delete { request in
        revisions.withLock { $0.append(request.assigned["revision"]) }
        if request.assigned["revision"] == .int(2) { return .accepted }
        return .conflict(["id": 1, "title": "Éclat", "revision": 2])
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(revisions.withLock { $0 } == [.int(1), .int(2)])
  }

  @Test(arguments: Backend.available)
  func `a page does not insert the record of an unanswered insert a second time`(backend: Backend) async throws {
    let stack = try Stack(backend)
    try stack.outbox.forward("Note") { handlers in handlers.insert { _ in throw LostAnswer() } }
    try stack.insert("Milk")
    var events = stack.outbox.events.makeAsyncIterator()
    try stack.outbox.start(ForwardOptions(retry: RetryPolicy(attempts: 100, initialDelay: .seconds(30), jitter: 0)))
    while let event = await events.next() { if case .willRetry = event { break } }
    await stack.outbox.stop()
    let result = try stack.connect.newActionContext().merge(
      records: [MergeRecord(["id": 9, "title": "Milk", "revision": 1])],
      for: stack.connect.managedObjectModel.entity(named: "Note"),
      options: MergeOptions(mode: .replace, maximumDeletedShare: 1))
    #expect(result.inserted == 0)
    #expect(try stack.foldedTitles() == ["milk"])
  }
}
