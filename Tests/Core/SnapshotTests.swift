import CoherenceCore
import Foundation
import Testing

@Suite struct SnapshotTests {
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let created = Date(timeIntervalSince1970: 1_000_000)

  init() throws {
    coordinator = try Self.coordinator()
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  private static func coordinator() throws -> PersistentStoreCoordinator {
    let model = try ManagedObjectModel(Recording.self, Edition.self, SignedEdition.self)
    return try PersistentStoreCoordinator(inMemory: model)
  }

  @Test func `values of every kind are inserted, read and read again after JSON`() throws {
    try context.performAndWait {
      let edition = try context.insert(Edition.Snapshot(id: UUID()))
      try context.save()
      let values = Recording.Snapshot(
        title: "A", mood: .wild, created: created, tags: ["x", "y"], size: PieceSize(width: 1.5),
        edition: edition.objectID)
      let piece = try context.insert(values)
      try context.save()
      var expected = values
      expected.objectID = piece.objectID
      #expect(try piece.snapshot() == expected)
      #expect(try context.snapshots(of: FetchRequest(Recording.self)) == [expected])
      let data = try JSONEncoder().encode(expected)
      #expect(try JSONDecoder().decode(Recording.Snapshot.self, from: data) == expected)
      let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      #expect(Set(json.keys) == ["objectID", "title", "mood", "created", "tags", "size", "edition"])
      #expect(json["tags"] as? [String] == ["x", "y"])
      #expect((json["size"] as? [String: Any])?.keys.sorted() == ["width"])
    }
  }

  @Test func `missing values read as the defaults of the model, and applying them again changes nothing`() throws {
    try context.performAndWait {
      let piece = try Recording(context: context)
      try piece.setAttributeValue(.date(Timestamp(microseconds: 0)), for: "created")
      for name in ["title", "mood", "tags"] { try piece.setAttributeValue(.null, for: name) }
      let values = try piece.snapshot()
      #expect(values.title == "Untitled" && values.mood == .calm && values.tags == [] && values.size == nil)
      try piece.apply(values)
      #expect(try piece.value(for: "title") == .null)
    }
  }

  @Test func `an undecodable value fails a read with the property's name, and applying a snapshot replaces the value`()
    throws
  {
    try context.performAndWait {
      let piece = try context.insert(Recording.Snapshot(created: created))
      let values = try piece.snapshot()
      try piece.setAttributeValue(.string("{}"), for: "tags")
      #expect { try piece.snapshot() } throws: {
        ErrorCode.wrongType ~= $0 && "\($0)".contains("tags")
      }
      #expect(throws: CoherenceError.self) { try context.snapshots(of: FetchRequest(Recording.self)) }
      try piece.apply(values)
      #expect(try piece.snapshot().tags == [])
    }
  }

  @Test func `an object of a subentity has the snapshots of its class and of its superclass`() throws {
    try context.performAndWait {
      let id = UUID()
      let edition = try context.insert(
        SignedEdition.Snapshot(inherited: Edition.Snapshot(id: id), signature: "Nina"))
      var values = try SignedEdition.Snapshot(edition)
      #expect(try edition.snapshot() == values.inherited)
      #expect(values.signature == "Nina" && values.inherited.id == id && values.objectID == edition.objectID)
      #expect(try Edition.Snapshot(edition).id == id)
      values.signature = "Ella"
      try edition.apply(values)
      try context.save()
      let editions = try context.snapshots(of: FetchRequest(Edition.self))
      #expect(editions.map(\.id) == [id])
      let signed = try context.snapshots(of: FetchRequest(SignedEdition.self), as: SignedEdition.Snapshot.self)
      #expect(signed.map(\.signature) == ["Ella"])
      let data = try JSONEncoder().encode(signed[0])
      #expect(try JSONDecoder().decode(SignedEdition.Snapshot.self, from: data) == signed[0])
      let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      #expect(Set(json.keys) == ["objectID", "id", "signature"])
    }
  }

  @Test func `an object is identified by its record, even with an attribute named id`() throws {
    func identity<Value: Identifiable>(of value: Value) -> Value.ID { value.id }
    try context.performAndWait {
      let id = UUID()
      let edition = try context.insert(Edition.Snapshot(id: id))
      let piece = try context.insert(Recording.Snapshot(created: created))
      let temporary = piece.id
      #expect(temporary.isTemporaryID)
      try context.save()
      #expect(piece.id == piece.objectID && context.object(with: temporary) === piece)
      #expect(edition.id == id)
      let recordID: ManagedObjectID = identity(of: edition)
      #expect(recordID == edition.objectID)
      #expect(identity(of: try edition.snapshot()) == id)
      #expect(identity(of: try piece.snapshot()) == piece.objectID)
    }
  }

  @Test func `a snapshot without a required value is refused by the decoder`() throws {
    let decoder = JSONDecoder()
    #expect(throws: DecodingError.self) {
      try decoder.decode(Recording.Snapshot.self, from: Data(#"{"title": "A", "mood": "wild"}"#.utf8))
    }
    #expect(throws: DecodingError.self) {
      try decoder.decode(Recording.Snapshot.self, from: Data(#"{"title": "A", "mood": "sad", "created": 0}"#.utf8))
    }
    let values = try decoder.decode(
      Recording.Snapshot.self, from: Data(#"{"title": "A", "mood": "wild", "created": 0}"#.utf8))
    #expect(values.objectID == nil && values.tags == [] && values.size == nil)
  }

  @Test func `an identifier decodes by the attached store or a named coordinator, not by another`() throws {
    let id = try context.performAndWait {
      let edition = try context.insert(Edition.Snapshot(id: UUID()))
      try context.save()
      return edition.objectID
    }
    let data = try JSONEncoder().encode([id])
    #expect(try JSONDecoder().decode([ManagedObjectID].self, from: data) == [id])
    let stored = try StoredObjectID(id)
    #expect(try coordinator.objectID(for: stored) == id)
    #expect(throws: CoherenceError.self) { try Self.coordinator().objectID(for: stored) }
    let decoder = JSONDecoder()
    decoder.userInfo[.persistentStoreCoordinator] = try Self.coordinator()
    #expect { try decoder.decode([ManagedObjectID].self, from: data) } throws: { ErrorCode.storeDetached ~= $0 }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    #expect { try JSONDecoder().decode([ManagedObjectID].self, from: data) } throws: { ErrorCode.storeDetached ~= $0 }
    #expect(try JSONDecoder().decode([StoredObjectID].self, from: data) == [stored])
  }

  @Test func `the text of an identifier can be parsed for all names of stores and entities`() throws {
    let names = [
      "Album", "a/b", "a%b", "a%2Fb", "%2F/", "%252F", "Größe", "a b", "p1", "\u{301}a", "/\u{301}", "%\u{301}25",
    ]
    for name in names {
      let model = try ManagedObjectModel { Entity(name) { Attribute("a", .int64) } }
      for store in names {
        let space = IDSpaces(store: StoreIdentifier(store), model: model)[try model.entity(named: name)]
        for key in [1, Int64.max, -3] {
          let id = try StoredObjectID(ManagedObjectID(space: space, key: key))
          #expect(StoredObjectID(id.description) == id)
          #expect(id.storeIdentifier.rawValue == store && id.entityName == name && id.key == key)
        }
      }
    }
    #expect(StoredObjectID("x-coherence://a%2Fb/c%25d/p-7")?.entityName == "c%d")
  }

  @Test func `an inserted snapshot stores the values that its properties also read without a stored value`() throws {
    try context.performAndWait {
      let id = UUID.attributeDefault
      let edition = try context.insert(Edition.Snapshot(id: id))
      try context.save()
      #expect(try edition.value(for: "id") == .uuid(id))
    }
  }

  @Test func `an unsaved record's identifier read without an object leads to the record after the parent's save`()
    throws
  {
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: context)
    try context.performAndWait { _ = try context.insert(Edition.Snapshot(id: UUID())) }
    let ids = try child.performAndWait { try child.fetchIDs(FetchRequest(Edition.self)) }
    #expect(ids.map(\.isTemporaryID) == [true])
    try context.performAndWait { try context.save() }
    try child.performAndWait {
      let found = try child.objects(for: ids, as: Edition.self)
      #expect(found.map(\.objectID.isTemporaryID) == [false])
    }
  }

  @Test func `an identifier names the root of its hierarchy, not a subentity`() throws {
    let id = try context.performAndWait {
      let edition = try context.insert(SignedEdition.Snapshot(inherited: Edition.Snapshot(id: UUID())))
      try context.save()
      return edition.objectID
    }
    let text = try StoredObjectID(id).description
    #expect(coordinator.objectID(forDescription: text) == id)
    let other = try StoredObjectID(text: text.replacing("/Edition/", with: "/SignedEdition/"))
    #expect { try coordinator.objectID(for: other) } throws: { ErrorCode.unknownEntity ~= $0 }
  }
}
