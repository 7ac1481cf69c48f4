import CoherenceCore
import Foundation

/// A class with an attribute of each kind, with the text that `@Entity` writes.
final class Recording: ManagedObject {
  struct Properties: EntityProperties {
    static let table = Properties()
    let title = AttributeKey<String>("title")
    let mood = AttributeKey<PieceMood>("mood")
    let created = AttributeKey<Date>("created")
    let tags = CodableKey<[String]>("tags")
    let size = CompositeKey<PieceSize?>("size")
    let edition = ToOneKey<Edition>("edition")
  }

  static var entityName: String { "Recording/100%" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: Recording.self) {
      Attribute("title", .string, default: "Untitled")
      Attribute("mood", PieceMood.attributeType, default: PieceMood.calm)
      Attribute("created", .date)
      Attribute("tags", .codable, default: "[]")
      CompositeAttribute("size", of: PieceSize?.self)
      Relationship("edition", toOne: Edition.entityName, inverse: nil)
    }
  }

  struct Snapshot: EntitySnapshot {
    typealias Object = Recording
    var objectID: ManagedObjectID?
    var title: String
    var mood: PieceMood
    var created: Date
    var tags: [String]
    var size: PieceSize?
    var edition: ManagedObjectID?

    init(
      objectID: ManagedObjectID? = nil, title: String = "Untitled", mood: PieceMood = .calm, created: Date,
      tags: [String] = [], size: PieceSize? = nil, edition: ManagedObjectID? = nil
    ) {
      self.objectID = objectID
      self.title = title
      self.mood = mood
      self.created = created
      self.tags = tags
      self.size = size
      self.edition = edition
    }

    static var fields: [SnapshotField] {
      [
        SnapshotField(Properties.table.title), SnapshotField(Properties.table.mood),
        SnapshotField(Properties.table.created), SnapshotField(Properties.table.tags),
        SnapshotField(Properties.table.size), SnapshotField(Properties.table.edition),
      ]
    }

    init(reading values: inout SnapshotReader) {
      objectID = values.objectID
      title = values.read()
      mood = values.read()
      created = values.read()
      tags = values.read(codable: Properties.table.tags)
      size = values.read()
      edition = values.read()
    }

    func write(to values: inout SnapshotWriter) {
      values.write(title)
      values.write(mood)
      values.write(created)
      values.write(tags, codable: Properties.table.tags)
      values.write(size)
      values.write(edition)
    }

    init(from decoder: any Decoder) throws {
      let values = try SnapshotDecoder(decoder)
      objectID = try values.decodeObjectID()
      title = try values.decode(Properties.table.title)
      mood = try values.decode(Properties.table.mood)
      created = try values.decode(Properties.table.created)
      tags = try values.decode(Properties.table.tags)
      size = try values.decode(Properties.table.size)
      edition = try values.decode(Properties.table.edition)
    }

    func encode(to encoder: any Encoder) throws {
      var values = SnapshotEncoder(encoder)
      try values.encode(objectID: objectID)
      try values.encode(title, Properties.table.title)
      try values.encode(mood, Properties.table.mood)
      try values.encode(created, Properties.table.created)
      try values.encode(tags, Properties.table.tags)
      try values.encode(size, Properties.table.size)
      try values.encode(edition, Properties.table.edition)
    }
  }
}

extension Recording: DeclaredEntity, SnapshotProviding {}

enum PieceMood: String, CaseIterable, AttributeConvertible {
  case calm, wild
}

struct PieceSize: Sendable, Equatable, CompositeValue {
  var width: Double
  var height: Int?

  init(width: Double, height: Int? = nil) {
    self.width = width
    self.height = height
  }

  static var compositeParts: [Attribute] {
    Attribute.parts("width", Double.self) + Attribute.parts("height", Int?.self)
  }
  init(reading parts: inout CompositeReader) {
    width = parts.read()
    height = parts.read()
  }
  func write(to parts: inout CompositeWriter) {
    parts.write(width)
    parts.write(height)
  }
}

/// A class with a subclass, and with an attribute named `id`.
class Edition: ManagedObject {
  struct Properties: EntityProperties {
    static let table = Properties()
    let id = AttributeKey<UUID>("id")
  }

  var id: UUID {
    get { self[Properties.table.id] }
    set { self[Properties.table.id] = newValue }
  }

  class var entityName: String { "Edition" }
  class var entityDeclaration: Entity {
    Entity(Edition.entityName, class: Edition.self) { Attribute("id", .uuid) }
  }

  struct Snapshot: EntitySnapshot {
    typealias Object = Edition
    var objectID: ManagedObjectID?
    var id: UUID

    init(objectID: ManagedObjectID? = nil, id: UUID) {
      self.objectID = objectID
      self.id = id
    }

    static var fields: [SnapshotField] { [SnapshotField(Properties.table.id)] }

    init(reading values: inout SnapshotReader) {
      objectID = values.objectID
      id = values.read()
    }

    func write(to values: inout SnapshotWriter) { values.write(id) }

    init(from decoder: any Decoder) throws {
      let values = try SnapshotDecoder(decoder)
      objectID = try values.decodeObjectID()
      id = try values.decode(Properties.table.id)
    }

    func encode(to encoder: any Encoder) throws {
      var values = SnapshotEncoder(encoder)
      try values.encode(objectID: objectID)
      try values.encode(id, Properties.table.id)
    }
  }
}

extension Edition: DeclaredEntity, SnapshotProviding {}

/// A subentity, whose snapshot has the snapshot of its parent within.
final class SignedEdition: Edition {
  struct Properties: EntityProperties {
    static let table = Properties()
    let signature = AttributeKey<String>("signature")
  }

  override class var entityName: String { "SignedEdition" }
  override class var entityDeclaration: Entity {
    Entity(SignedEdition.entityName, class: SignedEdition.self, parent: Edition.entityName) {
      Attribute("signature", .string, default: "")
    }
  }

  @dynamicMemberLookup
  struct Snapshot: EntitySnapshot {
    typealias Object = SignedEdition
    var inherited: Edition.Snapshot
    var signature: String

    init(inherited: Edition.Snapshot, signature: String = "") {
      self.inherited = inherited
      self.signature = signature
    }

    var objectID: ManagedObjectID? {
      get { inherited.objectID }
      set { inherited.objectID = newValue }
    }
    subscript<Value>(dynamicMember keyPath: WritableKeyPath<Edition.Snapshot, Value>) -> Value {
      get { inherited[keyPath: keyPath] }
      set { inherited[keyPath: keyPath] = newValue }
    }

    static var fields: [SnapshotField] {
      Edition.Snapshot.fields + [SnapshotField(Properties.table.signature)]
    }

    init(reading values: inout SnapshotReader) {
      inherited = Edition.Snapshot(reading: &values)
      signature = values.read()
    }

    func write(to values: inout SnapshotWriter) {
      inherited.write(to: &values)
      values.write(signature)
    }

    init(from decoder: any Decoder) throws {
      inherited = try Edition.Snapshot(from: decoder)
      let values = try SnapshotDecoder(decoder)
      signature = try values.decode(Properties.table.signature)
    }

    func encode(to encoder: any Encoder) throws {
      try inherited.encode(to: encoder)
      var values = SnapshotEncoder(encoder)
      try values.encode(signature, Properties.table.signature)
    }
  }
}

extension SignedEdition: DeclaredSubentity {}
