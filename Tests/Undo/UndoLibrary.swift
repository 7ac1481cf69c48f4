import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Expects that a call is refused.
func expectIllegalState(
  _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) {
  let error = #expect(throws: CoherenceError.self, sourceLocation: sourceLocation) { try body() }
  #expect(error?.code == .illegalState, sourceLocation: sourceLocation)
}

/// The model of the tests of undo: every kind of relationship.
enum UndoLibrary {
  static let model: ManagedObjectModel = {
    do {
      return try ManagedObjectModel(
        name: "UndoLibrary",
        entities: [
          Entity("Artist") {
            Attribute("key", .int64)
            Attribute("title", .string)
            Relationship("albums", toMany: "Album", inverse: "artist")
            Relationship("portrait", toOne: "Picture", inverse: "artist", deleteRule: .cascade)
          },
          Entity("Picture") {
            Attribute("key", .int64)
            Attribute("title", .string)
            Relationship("artist", toOne: "Artist", inverse: "portrait")
          },
          Entity("Album", class: SavingAlbum.self) {
            Attribute("key", .int64)
            Attribute("title", .string)
            Relationship("artist", toOne: "Artist", inverse: "albums")
            Relationship("tracks", toMany: "Track", inverse: "album", ordered: true, deleteRule: .cascade)
          },
          Entity("Track") {
            Attribute("key", .int64)
            Attribute("title", .string)
            Relationship("album", toOne: "Album", inverse: "tracks")
            Relationship("tags", toMany: "Tag", inverse: "tracks")
          },
          Entity("Tag", class: ShoutingTag.self) {
            Attribute("key", .int64)
            Attribute("title", .string)
            Relationship("tracks", toMany: "Track", inverse: "tags")
            Relationship("related", toMany: "Tag", ordered: true)
          },
        ])
    } catch {
      preconditionFailure("The model of the tests is not sound: \(error)")
    }
  }()

  /// A container with its own store, and a context with an undo history.
  struct Stack {
    let directory = TemporaryDirectory()
    let container: GenericPersistentContainer<ContextStrategy.Direct>
    let context: ManagedObjectContext

    init(_ backend: Backend) throws {
      container = GenericPersistentContainer(
        name: "Undo", managedObjectModel: UndoLibrary.model, storeLocation: directory.url)
      try container.attachPersistentStore(for: backend.newConfiguration())
      context = container.newBackgroundContext()
      let context = context
      context.performAndWait { context.undoHistory = UndoHistory() }
    }

    /// Changes records in a block of the context, and returns the history.
    @discardableResult
    func change<T>(_ body: (ManagedObjectContext) throws -> T) rethrows -> T { try context.performAndWait(body) }

    func undo() throws { try context.performAndWait { context in try context.undoHistory?.undo() } }
    func redo() throws { try context.performAndWait { context in try context.undoHistory?.redo() } }
    func save() throws { try context.performAndWait { context in try context.save() } }
    var hasChanges: Bool { context.performAndWait { context in context.hasChanges } }

    /// The graph as the context shows it.
    func graph() throws -> Graph { try context.performAndWait { context in try Graph(of: context) } }

    /// The graph as another context reads it from the store.
    func storedGraph() throws -> Graph {
      try container.newBackgroundContext().performAndWait { context in try Graph(of: context) }
    }

    /// Undoes a change, and expects that the context then has the graph of the store and nothing to save.
    func expectUndoToStoredGraph() throws {
      let stored = try storedGraph()
      try undo()
      #expect(try graph() == stored)
      #expect(!hasChanges)
      try save()
      #expect(try storedGraph() == stored)
    }

    /// Deletes an object in another context, and saves.
    func deleteElsewhere(_ entity: String, _ key: Int) throws {
      try container.newBackgroundContext().saving { context in
        context.delete(try #require(try UndoLibrary.object(entity, key, in: context)))
      }
    }
  }

  /// Inserts an object.
  @discardableResult
  static func insert(
    _ entity: String, _ key: Int, title: String = "", in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    try object.setValue(key, for: "key")
    try object.setValue(title, for: "title")
    return object
  }

  /// The tracks with keys, in the order of the keys.
  static func tracks(_ keys: [Int], in context: ManagedObjectContext) throws -> [ManagedObject] {
    try keys.compactMap { try object("Track", $0, in: context) }
  }

  /// The object of an entity with a key.
  static func object(_ entity: String, _ key: Int, in context: ManagedObjectContext) throws -> ManagedObject? {
    let request = FetchRequest<ManagedObject>(entityName: entity)
    return try context.fetch(request).first { try $0.value(for: "key", as: Int.self) == key }
  }
}

/// A tag whose save marks a title that asks for it.
final class ShoutingTag: ManagedObject {
  override func willSave() {
    if (try? value(for: "title", as: String.self)) == "shout" { try? setValue("shout!", for: "title") }
  }
}

/// An album whose validation tries to save the context when the title asks for it.
final class SavingAlbum: ManagedObject {
  override func validateForUpdate() throws {
    if (try? value(for: "title", as: String.self)) == "save" { try? managedObjectContext?.save() }
  }
}

/// All records of a context with their values and relationships. Records are known by their keys, which no undo changes.
struct Graph: Equatable, CustomStringConvertible {
  private(set) var lines: [String] = []

  init(of context: ManagedObjectContext) throws {
    for entity in UndoLibrary.model.entities.sorted(by: { $0.name < $1.name }) {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name)) {
        lines.append(try Self.line(of: object))
      }
    }
    lines.sort()
  }

  private static func key(of object: ManagedObject) throws -> Int { try object.value(for: "key", as: Int.self) }

  private static func line(of object: ManagedObject) throws -> String {
    let title = try object.value(for: "title", as: String.self)
    var line = "\(object.entity.name) \(try key(of: object)) '\(title)'"
    for relationship in object.entity.relationships.sorted(by: { $0.name < $1.name }) {
      if relationship.isToMany {
        let keys = try object.objects(for: relationship.name).map(key)
        line += " \(relationship.name): \(relationship.isOrdered ? keys : keys.sorted())"
      } else if let target = try object.object(for: relationship.name) {
        line += " \(relationship.name): \(try key(of: target))"
      }
    }
    return line
  }

  var description: String { "\n" + lines.joined(separator: "\n") }
}
