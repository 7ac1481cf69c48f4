import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation
import Testing

@testable import chores

/// An entity whose keys the server assigns.
@Entity final class Visit: ManagedObject {
  @Attribute(.unique) var number: Int64?
  var place: String
}

/// Merges visits as a page of a server.
struct MergeVisits: EntityAction {
  typealias ManagedObjectType = Visit
  let page: [MergeRecord]

  func execute(context: ActionContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
    try context.merge(records: page, for: model.entity(for: Visit.self))
  }
}

/// The program of the article about offline edits, with a server in a file of its own.
@Suite("The chores")
struct ChoresTests {
  private final class Place: Sendable {
    /// The identifier of the chore that the server has at first.
    static let sweep = "6F9619FF-8B86-4D01-B42D-00CF4FC964FF"

    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")

    init() throws {
      let chore = #"{"id": "\#(Self.sweep)", "title": "Sweep", "room": "", "revision": 1}"#
      try Data(#"{"chores": [\#(chore)], "deleted": {}, "answers": {}}"#.utf8).write(to: file)
    }

    deinit { try? FileManager.default.removeItem(at: file) }

    func book() async throws -> ChoreBook { try await ChoreBook(server: ChoreServer(file: file), in: .inMemory) }

    /// Deletes a chore as another client does.
    func delete(_ id: String, by server: ChoreServer) async throws {
      let edit = ChoreEdit(
        kind: .delete, id: try #require(UUID(uuidString: id)), base: ChoreFields(), values: ChoreFields())
      _ = try await server.receive(edit, key: UUID())
    }
  }

  @Test func `edits without a server wait, and arrive when the server is back`() async throws {
    let place = try Place()
    let book = try await place.book()
    try await book.sync()
    let away = place.file.appendingPathExtension("away")
    try FileManager.default.moveItem(at: place.file, to: away)
    try await book.rename("Sweep", to: "Mop")
    try await book.add("Dust")
    await #expect(throws: (any Error).self) { try await book.sync() }
    #expect(try await book.lines() == ["Dust, revision 0", "Mop, revision 1", "waiting entries: 2"])
    try FileManager.default.moveItem(at: away, to: place.file)
    try await book.sync()
    #expect(try await book.lines() == ["Dust, revision 1", "Mop, revision 2", "waiting entries: 0"])
    #expect(try await book.server.chores().map(\.title).sorted() == ["Dust", "Mop"])
    try await book.close()
  }

  @Test func `an edit of a chore that the server has deleted becomes a conflict, and the chore is sent as a new one`()
    async throws
  {
    let place = try Place()
    let book = try await place.book()
    try await book.sync()
    try await book.rename("Sweep", to: "Mop")
    try Data(#"{"chores": [], "deleted": {"\#(Place.sweep)": 1}, "answers": {}}"#.utf8).write(to: place.file)
    // The handler gets the decision, because the program has not merged.
    try book.outbox.start()
    #expect(try await book.outbox.flush() == 1)
    await book.outbox.stop()
    #expect(try await book.outbox.counts().parked == 1)
    #expect(try await book.outbox.conflictCount() == 0)
    try await book.add("Dust")
    try await book.sync()
    #expect(try await book.lines().contains("conflict: a chore was deleted there"))
    try await book.resolve(keeping: .local)
    try await book.sync()
    #expect(try await book.server.chores().map(\.title).sorted() == ["Dust", "Mop"])
    #expect(try await book.lines() == ["Dust, revision 1", "Mop, revision 2", "waiting entries: 0"])
    try await book.close()
  }

  @Test func `a page from before a deletion changes nothing in a chore that was inserted again`() async throws {
    let place = try Place()
    let book = try await place.book()
    try await book.add("Dust")
    try await book.sync()
    for (title, newTitle) in [("Sweep", "Mop"), ("Mop", "Scrub")] {
      try await book.rename(title, to: newTitle)
      try await book.sync()
    }
    let old = try Data(contentsOf: place.file)
    try await place.delete(Place.sweep, by: book.server)
    try await book.rename("Scrub", to: "Wax")
    try await book.sync()
    #expect(try await book.lines().contains("conflict: a chore was deleted there"))
    try await book.resolve(keeping: .local)
    try await book.sync()
    #expect(try await book.lines() == ["Dust, revision 1", "Wax, revision 4", "waiting entries: 0"])
    try old.write(to: place.file)
    try await book.sync()
    #expect(try await book.lines() == ["Dust, revision 1", "Wax, revision 4", "waiting entries: 0"])
    try await book.close()
  }

  @Test func `a page older than a confirmed edit changes nothing, and a chore missing in a new page is deleted`()
    async throws
  {
    let place = try Place()
    let book = try await place.book()
    let old = try Data(contentsOf: place.file)
    try await book.sync()
    try await book.rename("Sweep", to: "Mop")
    try await book.sync()
    let new = try Data(contentsOf: place.file)
    try old.write(to: place.file)
    try await book.sync()
    #expect(try await book.lines() == ["Mop, revision 2", "waiting entries: 0"])
    try new.write(to: place.file)
    try await book.add("Dust")
    try await book.sync()
    try await place.delete(Place.sweep, by: book.server)
    try await book.sync()
    #expect(try await book.lines() == ["Dust, revision 1", "waiting entries: 0"])
    try await book.close()
  }

  @Test func `a page with an inserted record before the reply to its insert leads to one record`() async throws {
    let model = try ManagedObjectModel(Visit.self, name: "Visits").addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Visits", managedObjectModel: model)
    let outbox = try Outbox(connect, forwarding: Visit.self)
    try outbox.forward(Visit.self) { handlers in
      handlers.insert { _ in .accepted(["number": Int64(7)]) }
    }
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    try await connect.performBackgroundTask { context in
      try Visit(context: context).place = "Zoo"
      try context.save()
    }
    try await connect.execute(MergeVisits(page: [MergeRecord(["number": 7, "place": "Zoo"])])).value
    try outbox.start()
    #expect(try await outbox.flush() == 0)
    await outbox.stop()
    let numbers = try await connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Visit.self)).map(\.number)
    }
    #expect(numbers == [7])
    try await connect.stop()
  }
}
