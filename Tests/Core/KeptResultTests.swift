import Foundation
import Testing

@testable import CoherenceCore

/// The results of fetched properties that objects keep.
@Suite struct KeptResultTests {
  private final class Note: ManagedObject {}
  private final class Tag: ManagedObject {}

  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Note", class: Note.self) {
        Attribute("title", .string)
        FetchedProperty("notes", of: "Note", sortedBy: [SortKey("title")])
      }
      Entity("Tag", class: Tag.self) { Attribute("title", .string) }
    }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  @discardableResult
  private func insert(_ entity: String, _ title: String) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    try object.setValue(title, for: "title")
    return object
  }

  private func titles(_ objects: [ManagedObject]) throws -> [String] {
    try objects.map { try $0.value(for: "title", as: String.self) }
  }

  private func error(of body: () throws -> Void) -> CoherenceError? {
    do {
      try body()
      return nil
    } catch {
      return error as? CoherenceError
    }
  }

  @Test func `a key never gets the kept result of a released key`() throws {
    try context.performAndWait {
      let note = try insert("Note", "a")
      try insert("Tag", "x")
      // A new key mostly gets the address of the key released before it.
      for _ in 0..<20 {
        let notes = try note.fetchedObjects(
          for: FetchedKey<Note, Note> { _ in FetchRequest<Note>(entityName: "Note") })
        #expect(notes.map { $0.entity.name } == ["Note"])
        let tags = try note.fetchedObjects(for: FetchedKey<Note, Tag> { _ in FetchRequest<Tag>(entityName: "Tag") })
        #expect(tags.map { $0.entity.name } == ["Tag"])
      }
    }
  }

  @Test func `the results of two keys and of a property by name are kept apart, each until a refresh`() throws {
    let (all, first) = (
      FetchedKey<Note, Note> { _ in FetchRequest<Note>(entityName: "Note").sort("title", .reverse) },
      FetchedKey<Note, Note> { _ in FetchRequest<Note>(entityName: "Note").sort("title").limit(1) }
    )
    try context.performAndWait {
      let note = try insert("Note", "b")
      try insert("Note", "c")
      for isRefreshed in [false, true] {
        let fresh = isRefreshed ? ["a"] : []
        #expect(try titles(note.fetchedObjects(for: all)) == ["c", "b"] + fresh)
        #expect(try titles(note.fetchedObjects(for: first)) == (isRefreshed ? ["a"] : ["b"]))
        #expect(try titles(note.fetchedObjects(for: "notes")) == fresh + ["b", "c"])
        if isRefreshed { continue }
        try insert("Note", "a")
        #expect(try titles(note.fetchedObjects(for: all)) == ["c", "b"])
        #expect(try titles(note.fetchedObjects(for: first)) == ["b"])
        #expect(try titles(note.fetchedObjects(for: "notes")) == ["b", "c"])
        note.refreshFetchedProperties()
      }
    }
  }

  @Test func `a kept result does not retain its objects, and loads them again`() throws {
    weak var other: ManagedObject?
    let note = try context.performAndWait {
      let note = try insert("Note", "a")
      try insert("Note", "b")
      try context.save()
      return note
    }
    try context.performAndWait {
      let objects = try note.fetchedObjects(for: "notes")
      other = objects.last
      #expect(objects.count == 2)
    }
    #expect(other == nil)
    let found = try context.performAndWait { try titles(note.fetchedObjects(for: "notes")) }
    #expect(found == ["a", "b"])
  }

  @Test func `a key of another class is refused, with the entity in the error`() throws {
    let (foreign, wrong) = (
      FetchedKey<Tag, Note> { _ in FetchRequest<Note>(entityName: "Note") }, FetchedKey<Note, Tag>("notes")
    )
    try context.performAndWait {
      let note = try insert("Note", "a")
      let foreignError = error { _ = try note.fetchedObjects(for: foreign) }
      #expect(foreignError?.code == .wrongType)
      #expect(foreignError?.message.hasSuffix("not of 'Note'.") == true)
      let wrongError = error { _ = try note.fetchedObjects(for: wrong) }
      #expect(wrongError?.code == .wrongType)
      #expect(wrongError?.message.hasPrefix("'Note.notes' fetches objects of 'Note', which are not of") == true)
      #expect(context.reportedErrors.isEmpty)
      #expect(note[wrong].isEmpty)
      #expect(context.reportedErrors.count == 1)
    }
  }
}
