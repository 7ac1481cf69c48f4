@testable import CoherenceCore
import Testing

/// The temporary identifiers that a parent notes for its children.
@Suite("Former identifiers", .timeLimit(.minutes(15)))
struct FormerIdentifiersTests {
  private static let batch = FormerIdentifiers.bound / 2 + 2

  private let parent: ManagedObjectContext
  private let child: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("number", .int64) } }
    parent = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
  }

  /// Inserts notes in the parent, and returns the temporary identifier of the first.
  private func insert(_ count: Int) throws -> ManagedObjectID {
    try parent.performAndWait {
      let notes = try (0..<count).map { number in
        let note = try parent.insertNewObject(forEntityName: "Note")
        try note.setValue(number, for: "number")
        return note
      }
      return try #require(notes.first).objectID
    }
  }

  private func save() throws { try parent.performAndWait { try parent.save() } }

  /// Inserts and saves notes three times: the third save is above the bound.
  private func saveThreeBatches(afterEach: () throws -> Void) throws -> [ManagedObjectID] {
    try (0..<3).map { _ in
      let id = try insert(Self.batch)
      try save()
      try afterEach()
      return id
    }
  }

  @Test
  func `a parent drops many former identifiers that its children have applied, and keeps those that the user knows`()
    throws
  {
    let request = FetchRequest<ManagedObject>(entityName: "Note").limit(1)
    let ids = try saveThreeBatches { _ = try child.performAndWait { try child.fetch(request).count } }
    let (count, found) = try parent.performAndWait {
      (parent.storage.formerIDs.count, try ids.map { try parent.existingObject(with: $0).objectID.isTemporaryID })
    }
    #expect(count == FormerIdentifiers.bound / 2 + Self.batch + 2)
    #expect(found == [false, false, false])
  }

  @Test func `the older half of many identifiers is dropped, without those that the user knows`() throws {
    let entity = try #require(parent.persistentStoreCoordinator).managedObjectModel.entity(named: "Note")
    let present = ManagedObjectID.temporary(for: entity)
    let former = (0..<(FormerIdentifiers.bound + 2)).map { _ in ManagedObjectID.temporary(for: entity) }
    var formerIDs = FormerIdentifiers()
    formerIDs.note(present, of: former[0], isExposed: true)
    // The first identifier is noted again, as after the collapse of an inbox.
    for id in former { formerIDs.note(present, of: id, isExposed: false) }
    #expect(formerIDs.isAboveBound)
    formerIDs.dropUnexposed()
    #expect(!formerIDs.isAboveBound)
    #expect(formerIDs.count == FormerIdentifiers.bound / 2 + 1)
    #expect(formerIDs.current(former[0]) == present)
    #expect(formerIDs.current(former[1]) == former[1])
    #expect(formerIDs.current(former[former.count - 1]) == present)
  }

  @Test func `a record inserted in place of a deleted record may become the deleted record`() throws {
    let entity = try #require(parent.persistentStoreCoordinator).managedObjectModel.entity(named: "Note")
    let deleted = ManagedObjectID.temporary(for: entity)
    let inserted = ManagedObjectID.temporary(for: entity)
    var formerIDs = FormerIdentifiers()
    formerIDs.note(inserted, reinserting: deleted)
    #expect(formerIDs.currentOrReinserted(deleted) == inserted)
    // Another writer has restored the deleted record, and both records have the same unique values.
    formerIDs.note(deleted, of: inserted, isExposed: true)
    #expect(formerIDs.currentOrReinserted(deleted) == deleted)
    #expect(formerIDs.currentOrReinserted(inserted) == deleted)
  }

  @Test func `a child that has been idle since before many saves finds its object under the permanent identifier`()
    throws
  {
    // Without a look at its identifier, which would keep the identifier for the user.
    try parent.performAndWait { try parent.insertNewObject(forEntityName: "Note").setValue(0, for: "number") }
    let note = try child.performAndWait {
      try #require(try child.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
    }
    try save()
    _ = try saveThreeBatches {}
    let (isTemporary, number) = try child.performAndWait {
      (note.objectID.isTemporaryID, try note.value(for: "number", as: Int.self))
    }
    #expect(!isTemporary)
    #expect(number == 0)
  }
}
