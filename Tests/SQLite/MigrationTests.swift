import CoherenceCore
import CoherenceSQLite
import Foundation
import TestSupport
import Testing

@Suite struct MigrationTests {
  private let place: TemporaryStore
  init() throws { place = try TemporaryStore() }

  private static func first() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string)
        Attribute("year", .int32, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tags", toMany: "Tag", inverse: "albums")
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
    }
  }

  private func fill() throws {
    let store = try place.open(Self.first())
    let artist = try store.insert("Artist", ["name": .string("Nina")])
    let album = try store.insert("Album", ["title": .string("One"), "artist": .reference(artist.id)])
    let tag = try store.insert("Tag", ["name": .string("jazz")])
    guard case .links(let table, _) = store.entity("Album").relationship(named: "tags")!.storage else { return }
    let link = Link(source: album.key, target: tag.key)
    try store.save(StoreSaveRequest(steps: [.link(table, [link])]))
    store.close()
  }

  @Test func `new attributes get their defaults, and attributes omitted by a model return with their values`() throws {
    try fill()
    let model = try ManagedObjectModel {
      Entity("Album", uniqueness: [["barcode"]], indexes: [["title"]]) {
        Attribute("title", .string)
        Attribute("year", .int32, default: Int32(1900))
        Attribute("rating", .double, default: 2.5)
        Attribute("barcode", .string, optional: true)
        Relationship("label", toOne: "Label", inverse: "albums")
        Relationship("tags", toMany: "Tag", inverse: "albums")
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
      Entity("Label") { Relationship("albums", toMany: "Album", inverse: "label") }
    }
    let store = try place.open(model)
    let album = try #require(try store.fetch("Album").first)
    #expect(album["title"] == .string("One"))
    #expect(album["year"] == .int(1900))
    #expect(album["rating"] == .double(2.5))
    #expect(album["barcode"] == .null)
    #expect(album["label"] == .null)
    let links: FetchPredicate = .quantified(.any, PropertyPath("tags"), .path("name", .equal, .string("jazz")))
    #expect(try store.fetch("Album", where: links).count == 1)
    let hashes = try store.metadata().versionHashes
    #expect(Set(hashes.keys) == ["Album", "Tag", "Label"])
    #expect(model.isConfiguration(nil, compatibleWith: try store.metadata()))
    store.close()

    // The earlier model again finds the left-out values.
    let back = try place.open(Self.first())
    let artist = try #require(try back.fetch("Artist").first)
    #expect(artist["name"] == .string("Nina"))
    #expect(try back.fetch("Album").map { $0["artist"] } == [.reference(artist.id)])
  }

  @Test func `a migration beyond additions throws and changes nothing`() throws {
    try fill()
    let model = try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .int64)
        Attribute("age", .int16)
        Relationship("albums", toOne: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string)
        Attribute("year", .int32)
        Relationship("artist", toOne: "Artist", inverse: "albums")
      }
    }
    let error = #expect(throws: CoherenceError.self) { try place.open(model) }
    #expect(error?.code == .incompatibleModel)
    let message = error?.message ?? ""
    for words in [
      "'Artist.name' is of type string", "'Artist.age' is new and required", "'Album.year' became required",
      "'Artist.albums' is to-many",
    ] {
      #expect(message.contains(words), "\(words) in \(message)")
    }
    let store = try place.open(Self.first())
    #expect(try store.fetch("Artist").count == 1)
    #expect(try store.fetch("Tag").count == 1)
  }

  @Test func `without the option any difference is refused`() throws {
    try fill()
    let model = try ManagedObjectModel { Entity("Artist") { Attribute("name", .string) } }
    let error = #expect(throws: CoherenceError.self) {
      try place.open(model, options: [StoreOption.migrateAutomatically: false])
    }
    #expect(error?.code == .incompatibleModel)
    let readOnly = #expect(throws: CoherenceError.self) { try place.open(model, options: [StoreOption.readOnly: true]) }
    #expect(readOnly?.code == .incompatibleModel)
    _ = try place.open(Self.first(), options: [StoreOption.migrateAutomatically: false])
  }

  @Test func `records of a left-out subentity and references to them are dropped only if data loss is allowed`()
    throws
  {
    func model(withVinyl: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        entities: [
          Entity("Item") {
            Attribute("name", .string)
            Relationship("owners", toMany: "Owner", inverse: "item")
          },
          Entity("Owner") { Relationship("item", toOne: "Item", inverse: "owners") },
        ] + (withVinyl ? [Entity("Vinyl", parent: "Item") { Attribute("speed", .int16, default: Int16(33)) }] : []))
    }
    let before = try place.open(model(withVinyl: true))
    let vinyl = try before.insert("Vinyl", ["name": .string("v")])
    try before.insert("Item", ["name": .string("i")])
    try before.insert("Owner", ["item": .reference(vinyl.id)])
    before.close()
    let refusal = #expect(throws: CoherenceError.self) { try place.open(model(withVinyl: false)) }
    #expect(refusal?.code == .incompatibleModel)
    #expect(refusal?.dataLosses.map(\.count) == [1])
    let after = try place.open(model(withVinyl: false), options: [StoreOption.allowsDataLoss: true])
    #expect(try after.fetch("Item").map { $0["name"] } == [.string("i")])
    #expect(try after.fetch("Owner").map { $0["item"] } == [.null])
  }

  @Test func `a delete rule changes whether references are checked`() throws {
    func model(_ rule: DeleteRule) throws -> ManagedObjectModel {
      try ManagedObjectModel {
        Entity("Parent") { Relationship("children", toMany: "Child", inverse: "parent", deleteRule: rule) }
        Entity("Child") { Relationship("parent", toOne: "Parent", inverse: "children") }
      }
    }
    func delete(_ row: Row) -> StoreSaveRequest {
      StoreSaveRequest(steps: [.delete(row.entity, [RowDelete(id: row.id, baseVersion: row.version)])])
    }
    let loose = try place.open(model(.noAction))
    let parent = try loose.insert("Parent")
    try loose.insert("Child", ["parent": .reference(parent.id)])
    try loose.insert("Child", ["parent": .reference(ManagedObjectID(space: parent.id.space, key: 999))])
    loose.close()
    let strict = try place.open(model(.nullify))
    let strictParent = try #require(try strict.fetch("Parent").first)
    #expect(try strict.fetch("Child").map { $0["parent"] } == [.reference(strictParent.id), .null])
    #expect { try strict.save(delete(strictParent)) } throws: { ErrorCode.danglingReference ~= $0 }
    strict.close()
    let looseAgain = try place.open(model(.noAction))
    let looseParent = try #require(try looseAgain.fetch("Parent").first)
    try looseAgain.save(delete(looseParent))
    #expect(try looseAgain.fetch("Child").first?["parent"] == .reference(looseParent.id))
  }

  @Test func `uniqueness that the records do not have is refused`() throws {
    func model(_ uniqueness: [[String]]) throws -> ManagedObjectModel {
      try ManagedObjectModel { Entity("Thing", uniqueness: uniqueness) { Attribute("name", .string) } }
    }
    let store = try place.open(model([]))
    try store.insert("Thing", ["name": .string("same")])
    try store.insert("Thing", ["name": .string("same")])
    store.close()
    #expect { try place.open(model([["name"]])) } throws: { ErrorCode.incompatibleModel ~= $0 }
    #expect(try place.open(model([])).fetch("Thing").count == 2)
  }

  @Test func `a constraint ends in a store whose newest model an earlier version of the framework recorded`() throws {
    func model(_ uniqueness: [[String]], _ names: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel {
        Entity("Thing", uniqueness: uniqueness) { for name in names { Attribute(name, .string, optional: true) } }
      }
    }
    try place.open(model([["code"]], ["code", "note"])).close()
    try place.open(model([["code"]], ["code"])).close()
    // An earlier version does not record the columns that the newest model leaves out.
    let other = try OtherProgram(place.path)
    try other.run(
      """
      UPDATE "$coherence" SET "value" = \
      replace(replace("value", '"isLeftOut":true,', ''), '"isLeftOut":false,', '') WHERE "key" = 'schema'
      """)
    try other.close()
    let store = try place.open(model([], ["code"]))
    for _ in 0..<2 { try store.insert("Thing", ["code": .string("same")]) }
    #expect(try store.fetch("Thing").count == 2)
  }
}
