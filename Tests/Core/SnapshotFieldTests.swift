import CoherenceCore
import Foundation
import Testing

/// Missing fields, null fields and fields of another kind in snapshots, and snapshots with a failing insert.
@Suite("Fields of snapshots")
struct SnapshotFieldTests {
  /// A class with declared defaults of codable attributes, whose objects delete their edition when they are inserted.
  final class Label: ManagedObject, DeclaredEntity, SnapshotProviding {
    struct Properties: EntityProperties {
      static let table = Properties()
      let tags = CodableKey<[String]>("tags")
      let notes = CodableKey<[String]?>("notes")
      let edition = ToOneKey<Edition>("edition")
    }

    static var entityName: String { "Label" }
    static var entityDeclaration: Entity {
      Entity(entityName, class: Label.self) {
        Attribute("tags", codable: [String].self, default: ["x"])
        Attribute("notes", codable: [String]?.self, default: ["y"])
        Relationship("edition", toOne: Edition.entityName, inverse: nil)
      }
    }

    override func awakeFromInsert() {
      guard let context = managedObjectContext else { return }
      for object in context.registeredObjects where object is Edition { context.delete(object) }
    }

    struct Snapshot: EntitySnapshot {
      typealias Object = Label
      var objectID: ManagedObjectID?
      var tags: [String] = []
      var notes: [String]?
      var edition: ManagedObjectID?

      init(edition: ManagedObjectID? = nil) { self.edition = edition }

      static var fields: [SnapshotField] {
        let table = Properties.table
        return [SnapshotField(table.tags), SnapshotField(table.notes), SnapshotField(table.edition)]
      }

      init(reading values: inout SnapshotReader) {
        objectID = values.objectID
        tags = values.read(codable: Properties.table.tags)
        notes = values.read(codable: Properties.table.notes)
        edition = values.read()
      }

      func write(to values: inout SnapshotWriter) {
        values.write(tags, codable: Properties.table.tags)
        values.write(notes, codable: Properties.table.notes)
        values.write(edition)
      }

      init(from decoder: any Decoder) throws {
        let values = try SnapshotDecoder(decoder)
        tags = try values.decode(Properties.table.tags)
        notes = try values.decode(Properties.table.notes)
        edition = try values.decode(Properties.table.edition)
      }

      func encode(to encoder: any Encoder) throws {
        var values = SnapshotEncoder(encoder)
        try values.encode(tags, Properties.table.tags)
        try values.encode(notes, Properties.table.notes)
        try values.encode(edition, Properties.table.edition)
      }
    }
  }

  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel(Recording.self, Edition.self, SignedEdition.self, Label.self)
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  @Test func `a missing codable value reads as the declared default, unless the type has a value for it`() throws {
    try context.performAndWait {
      let label = try Label(context: context)
      for name in ["tags", "notes"] { try label.setAttributeValue(.null, for: name) }
      #expect(label[Label.Properties.table.tags] == ["x"] && label[Label.Properties.table.notes] == nil)
      let snapshot = try label.snapshot()
      #expect(snapshot.tags == ["x"] && snapshot.notes == nil)
      let read = try context.snapshots(of: FetchRequest(Label.self))
      #expect(read.map(\.tags) == [["x"]] && read.map(\.notes) == [nil])
    }
  }

  @Test func `an insert that fails after the object was made leaves no object`() throws {
    try context.performAndWait {
      let edition = try context.insert(Edition.Snapshot(id: UUID()))
      try context.save()
      let error = #expect(throws: CoherenceError.self) {
        _ = try context.insert(Label.Snapshot(edition: edition.objectID))
      }
      #expect(error?.code == .objectDeleted)
      #expect(context.insertedObjects.isEmpty && edition.isDeleted)
      #expect(try context.count(for: FetchRequest(Label.self)) == 0)
    }
  }

  @Test func `an object without a context takes the values of a snapshot, but no target`() throws {
    let edition = try context.performAndWait {
      let edition = try context.insert(Edition.Snapshot(id: UUID()))
      try context.save()
      return edition.objectID
    }
    let entity = try context.performAndWait { try context.insert(Recording.Snapshot(created: .now)).entity }
    let piece = Recording(entity: entity, insertInto: nil)
    try piece.apply(Recording.Snapshot(title: "B", created: Date(timeIntervalSince1970: 5)))
    #expect(try piece.snapshot().title == "B")
    let error = #expect(throws: CoherenceError.self) {
      try piece.apply(Recording.Snapshot(created: Date(timeIntervalSince1970: 6), edition: edition))
    }
    #expect(error?.code == .wrongContext)
    #expect(try piece.snapshot().created == Date(timeIntervalSince1970: 5))
  }

  private func failure(_ json: String) -> DecodingError? {
    do {
      _ = try JSONDecoder().decode(Recording.Snapshot.self, from: Data(json.utf8))
      return nil
    } catch {
      return error as? DecodingError
    }
  }

  @Test(arguments: [
    #"{"title": "A", "mood": "wild"}"#, #"{"title": "A", "mood": "wild", "created": null}"#,
    #"{"title": null, "mood": "wild", "created": 0}"#, #"{"title": "A", "mood": null, "created": 0}"#,
  ])
  func `an absent or null value of a required property is reported as missing`(json: String) throws {
    guard case .keyNotFound(let key, let context)? = failure(json) else {
      Issue.record("The error is \(String(describing: failure(json))).")
      return
    }
    #expect(["title", "mood", "created"].contains(key.stringValue))
    #expect(context.debugDescription == "The property '\(key.stringValue)' has no value.")
  }

  @Test(arguments: [
    #"{"title": "A", "mood": "sad", "created": 0}"#, #"{"title": "A", "mood": "wild", "created": 1e16}"#,
  ])
  func `a value that the type refuses is reported as corrupted`(json: String) {
    guard case .dataCorrupted? = failure(json) else {
      Issue.record("The error is \(String(describing: failure(json))).")
      return
    }
  }

  @Test func `null stands for a missing composite, part, codable value, target and identifier`() throws {
    let json = #"""
      {"objectID": null, "title": "A", "mood": "wild", "created": 0, "tags": null, "size": null, "edition": null}
      """#
    let values = try JSONDecoder().decode(Recording.Snapshot.self, from: Data(json.utf8))
    #expect(values.objectID == nil && values.tags == [] && values.size == nil && values.edition == nil)
    let part = #"{"title": "A", "mood": "wild", "created": 0, "size": {"width": 2, "height": null}}"#
    let size = try JSONDecoder().decode(Recording.Snapshot.self, from: Data(part.utf8)).size
    #expect(size == PieceSize(width: 2))
  }

  @Test func `missing values are left out of the encoded snapshot`() throws {
    let snapshot = Recording.Snapshot(created: Date(timeIntervalSince1970: 0))
    let data = try JSONEncoder().encode(snapshot)
    let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(Set(json.keys) == ["title", "mood", "created", "tags"])
  }
}
