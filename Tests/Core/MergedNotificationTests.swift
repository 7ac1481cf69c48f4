import Testing

@testable import CoherenceCore

/// The lists of a notification in which an object may have several changes.
@Suite struct MergedNotificationTests {
  private let writer: ManagedObjectContext
  private let reader: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let coordinator = try PersistentStoreCoordinator(inMemory: model)
    writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    reader.follow(writer)
  }

  /// Saves a new note and then another title of it, and returns its identifier.
  private func saveTwice() throws -> ManagedObjectID {
    try writer.performAndWait {
      let note = try writer.insertNewObject(forEntityName: "Note")
      try note.setValue("a", for: "title")
      try writer.save()
      try note.setValue("b", for: "title")
      try writer.save()
      return note.objectID
    }
  }

  @Test func `a record that another context inserts and changes is named as inserted alone`() async throws {
    var told = reader.objectsDidChange.makeAsyncIterator()
    // The reader applies both saves after its block.
    let id = try reader.performAndWait { try saveTwice() }
    reader.performAndWait {}
    let changes = try #require(await told.next())
    #expect(changes == ObjectChanges(inserted: [id]))
  }

  @Test func `a record merged and edited in one block is named as inserted only`() async throws {
    var told = reader.objectsDidChange.makeAsyncIterator()
    let id = try reader.performAndWait {
      let id = try saveTwice()
      reader.refreshAll()
      try reader.existingObject(with: id).setValue("c", for: "title")
      return id
    }
    let changes = try #require(await told.next())
    #expect(changes.inserted == [id])
    #expect(changes.updated.isEmpty && changes.refreshed.isEmpty && changes.deleted.isEmpty)
    #expect(changes.isEverything)
  }

  @Test func `a notification has no changes of the notification before`() async throws {
    let id = try saveTwice()
    reader.performAndWait {}
    var told = reader.objectsDidChange.makeAsyncIterator()
    reader.performAndWait { reader.refreshAll() }
    let everything = try #require(await told.next())
    #expect(everything.isEverything)
    try reader.performAndWait { try reader.existingObject(with: id).setValue("c", for: "title") }
    let changes = try #require(await told.next())
    #expect(changes == ObjectChanges(updated: [id]))
  }
}
