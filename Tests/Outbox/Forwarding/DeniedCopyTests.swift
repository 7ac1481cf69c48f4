import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// An answer whose settlement deletes a copy of the server's record, although a relationship of the copy denies the
/// delete.
@Suite("Forwarding: copies that the model does not let an outbox delete")
struct DeniedCopyTests {
  private static let model = Result {
    try ManagedObjectModel {
      Entity("Shelf", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .string)
        Relationship("books", toMany: "Book", inverse: "shelf", deleteRule: .deny)
      }
      Entity("Book") {
        Attribute("title", .string)
        Relationship("shelf", toOne: "Shelf", inverse: "books")
      }
    }.addingOutbox()
  }

  private func all(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }

  /// Deletes the shelf of an unanswered insert, as the user does, and inserts the server's shelf with a book. Does
  /// nothing for a deleted shelf.
  private func replaceShelf(_ connect: NoteConnect) throws {
    var isDeleted = true
    try connect.newBackgroundContext().saving { context in
      for shelf in try all("Shelf", in: context) where try shelf.value(for: "id") == .string("local") {
        context.delete(shelf)
        isDeleted = false
      }
    }
    if isDeleted { return }
    let shelf = try connect.managedObjectModel.entity(named: "Shelf")
    try connect.newActionContext().merge(records: [MergeRecord(["id": "s1"])], for: shelf)
    try connect.newBackgroundContext().saving { context in
      let book = try context.insertNewObject(forEntityName: "Book")
      try book.setValue("b", for: "title")
      try book.setObject(try all("Shelf", in: context).first, for: "shelf")
    }
  }

  /// Starts the outbox, and waits until the insert of the shelf is accepted or parked.
  ///
  /// - Returns: Whether the insert was accepted.
  private func sendShelf(_ outbox: Outbox) async throws -> Bool {
    var events = outbox.events.makeAsyncIterator()
    try outbox.start(ForwardOptions(concurrency: 1))
    var isAccepted: Bool?
    while isAccepted == nil, let event = await events.next() {
      switch event {
      case .accepted(let request) where request.entityName == "Shelf": isAccepted = true
      case .parked(let request, error: _) where request.entityName == "Shelf": isAccepted = false
      case .failed(let error):
        Issue.record("The outbox repeats a settlement that the model refuses: \(error)")
        isAccepted = false
      default: break
      }
    }
    await outbox.stop(.cancel)
    return isAccepted ?? false
  }

  @Test(arguments: Backend.available)
  func `an answer whose copy cannot be deleted is parked, and is written after the cause is removed`(
    _ backend: Backend
  ) async throws {
    let directory = TemporaryDirectory()
    let connect = try NoteConnect(
      name: "Shelves", managedObjectModel: Self.model.get(), storeLocation: directory.url)
    try connect.attachPersistentStore(for: backend.newConfiguration())
    let outbox = try Outbox(connect, entities: ["Shelf", "Book"])
    try outbox.forward("Shelf") { handlers in
      handlers.insert { _ in
        try replaceShelf(connect)
        return .accepted(["id": "s1"])
      }
      handlers.delete { _ in .accepted }
    }
    try outbox.forward("Book") { handlers in
      handlers.insert { _ in .accepted }
      handlers.delete { _ in .accepted }
    }
    try await connect.start()
    try connect.newBackgroundContext().saving {
      try $0.insertNewObject(forEntityName: "Shelf").setValue("local", for: "id")
    }

    #expect(try await !sendShelf(outbox))
    let parked = try await outbox.entries(state: .parked)
    #expect(parked.map(\.kind) == [.insert])

    try connect.newBackgroundContext().saving { context in
      for book in try all("Book", in: context) { context.delete(book) }
    }
    try await outbox.retry(try #require(parked.first).id)
    #expect(try await sendShelf(outbox))
    let context = connect.newBackgroundContext()
    #expect(try context.performAndWait { try all("Shelf", in: context).isEmpty })
  }
}
