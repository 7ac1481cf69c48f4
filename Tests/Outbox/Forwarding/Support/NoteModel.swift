import CoherenceCore
import CoherenceOutbox

/// A folder of notes. The server assigns the identifier.
final class NoteFolder: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let id = AttributeKey<String>("id")
    let name = AttributeKey<String>("name")
    let notes = ToManyKey<Note>("notes")
  }

  static var entityName: String { "NoteFolder" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: NoteFolder.self, userInfo: ["uniquenessAttributes": "id"]) {
      Attribute("id", .string)
      Attribute("name", .string, default: "")
      Relationship("notes", toMany: "Note", inverse: "folder", deleteRule: .cascade)
    }
  }

  var id: String {
    get { self[Properties.table.id] }
    set { self[Properties.table.id] = newValue }
  }
  var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
}

/// A note of a folder. The server assigns the identifier and the revision.
final class Note: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let id = AttributeKey<String>("id")
    let title = AttributeKey<String>("title")
    let rank = AttributeKey<Int64>("rank")
    let revision = AttributeKey<Int64>("revision")
    let folder = ToOneKey<NoteFolder>("folder")
  }

  static var entityName: String { "Note" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: Note.self, userInfo: ["uniquenessAttributes": "id"]) {
      Attribute("id", .string)
      Attribute("title", .string, default: "")
      Attribute("rank", .int64, default: Int64(0))
      Attribute("revision", .int64, default: Int64(0))
      Relationship("folder", toOne: "NoteFolder", inverse: "notes")
    }
  }

  var id: String {
    get { self[Properties.table.id] }
    set { self[Properties.table.id] = newValue }
  }
  var title: String {
    get { self[Properties.table.title] }
    set { self[Properties.table.title] = newValue }
  }
  var rank: Int64 {
    get { self[Properties.table.rank] }
    set { self[Properties.table.rank] = newValue }
  }
  var revision: Int64 {
    get { self[Properties.table.revision] }
    set { self[Properties.table.revision] = newValue }
  }
  var folder: NoteFolder? {
    get { self[Properties.table.folder] }
    set { self[Properties.table.folder] = newValue }
  }
}
