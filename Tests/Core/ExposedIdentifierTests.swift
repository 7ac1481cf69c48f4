@testable import CoherenceCore
import Testing

/// The temporary identifiers of a parent's records that a child has returned, without an object that the child retains.
@Suite struct ExposedIdentifierTests {
  private let parent: ManagedObjectContext
  private let child: ManagedObjectContext

  /// Makes a child of a context with an unsaved note.
  init() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let parent = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    self.parent = parent
    child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try parent.performAndWait {
      try parent.insertNewObject(forEntityName: "Note").setValue("A", for: "title")
    }
  }

  /// The child's object of the note.
  private func note() throws -> ManagedObject {
    try #require(try child.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
  }

  /// Saves the parent, and expects the child to find the note by an identifier from before the save.
  private func expectFound(_ former: ManagedObjectID) throws {
    #expect(former.isTemporaryID)
    try parent.performAndWait { try parent.save() }
    try child.performAndWait {
      let found = try child.existingObject(with: former)
      #expect(!found.objectID.isTemporaryID)
      #expect(try found.value(for: "title", as: String.self) == "A")
      #expect(child.storage.exposedTemporaryIDs.isEmpty)
    }
  }

  @Test(arguments: [false, true])
  func `a child finds a record by an identifier from before the save, and keeps no list of such identifiers`(
    isParent: Bool
  ) throws {
    let grandchild = isParent ? ManagedObjectContext(concurrencyType: .privateQueue, parent: child) : nil
    let (former, note) = try child.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Note")
      let former = try #require(try child.fetchIDs(request).first)
      let note = try self.note()
      return (former, note)
    }
    try expectFound(former)
    let found = try child.performAndWait { try child.existingObject(with: former) }
    #expect(found === note)
    withExtendedLifetime(grandchild) {}
  }

  @Test(arguments: ["rollback", "refresh", "refresh of a reverted edit", "save of a reverted edit"])
  func `a child finds a record by the identifier of a released object whose edit it has dropped`(
    way: String
  ) throws {
    let former = try child.performAndWait {
      let note = try self.note()
      try note.setValue("B", for: "title")
      let former = note.objectID
      if way.hasSuffix("reverted edit") { try note.setValue("A", for: "title") }
      switch way {
      case "rollback": child.rollback()
      case "save of a reverted edit": try child.save()
      default: child.refresh(note, mergeChanges: way != "refresh")
      }
      return former
    }
    try expectFound(former)
  }

  @Test func `a child finds a record by the identifier of a refreshed object in a stream of changes`() async throws {
    var changes = child.objectsDidChange.makeAsyncIterator()
    try child.performAndWait {
      let note = try self.note()
      try note.setValue("B", for: "title")
      child.refresh(note, mergeChanges: false)
    }
    let refreshed = try #require(await changes.next()).refreshed
    try expectFound(try #require(refreshed.first))
  }
}
