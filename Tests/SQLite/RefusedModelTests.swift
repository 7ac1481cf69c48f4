import CoherenceCore
import TestSupport
import Testing

/// The sentences with which a store refuses a model, and the numbers in them.
@Suite struct RefusedModelTests {
  private let place: TemporaryStore

  init() throws { place = try TemporaryStore() }

  /// The error of a store of some entities, which a block has filled, for the model of other entities.
  private func refusal(
    of entities: [Entity], by stored: [Entity], _ options: [String: OptionValue] = [:],
    fill: (any PersistentStore) throws -> Void = { _ in }
  ) throws -> CoherenceError {
    let place = try TemporaryStore()
    let store = try place.open(ManagedObjectModel(entities: stored))
    try fill(store)
    store.close()
    let model = try ManagedObjectModel(entities: entities)
    let error = try #require(throws: CoherenceError.self) { try place.open(model, options: options) }
    #expect(error.code == .incompatibleModel)
    return error
  }

  private func expect(
    _ error: CoherenceError, toSay sentence: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(error.message.contains(sentence), "\(error.message)", sourceLocation: sourceLocation)
  }

  // MARK: Hierarchies

  @Test func `an entity that becomes abstract is refused with the number of its records, and accepted without any`()
    throws
  {
    func entities(isAbstract: Bool) -> [Entity] {
      [Entity("Item", isAbstract: isAbstract) { Attribute("name", .string) }, Entity("Vinyl", parent: "Item")]
    }
    for (count, number) in [(1, "(1 record.)"), (2, "(2 records.)")] {
      let error = try refusal(of: entities(isAbstract: true), by: entities(isAbstract: false)) { store in
        for _ in 0..<count { try store.insert("Item", ["name": .string("a")]) }
        try store.insert("Vinyl", ["name": .string("b")])
      }
      expect(error, toSay: "'Item' has records in the store and is abstract in the model. \(number)")
    }
    let store = try place.open(ManagedObjectModel(entities: entities(isAbstract: false)))
    try store.insert("Vinyl", ["name": .string("b")])
    store.close()
    let changed = try place.open(ManagedObjectModel(entities: entities(isAbstract: true)))
    #expect(try changed.fetch("Item").map { $0["name"] } == [.string("b")])
  }

  @Test func `an entity with another superentity is refused with both superentities`() throws {
    let item = Entity("Item") { Attribute("name", .string, optional: true) }
    let (root, child) = (Entity("Vinyl"), Entity("Vinyl", parent: "Item"))
    expect(
      try refusal(of: [item, root], by: [item, child]),
      toSay: "'Vinyl' inherits from 'Item' in the store and inherits from nothing in the model.")
    expect(
      try refusal(of: [item, child], by: [item, root]),
      toSay: "'Vinyl' inherits from nothing in the store and inherits from 'Item' in the model.")
  }

  @Test func `a property that moves to another entity is refused with both entities and names`() throws {
    let item = Entity("Item") { Attribute("name", .string, optional: true) }
    let stored = [
      item, Entity("Tag") { Attribute("name", .string, optional: true) },
      Entity("Vinyl", parent: "Item") {
        Attribute("artist", .string, optional: true)
        Relationship("themes", toMany: "Tag", inverse: nil)
      },
    ]
    func fill(_ store: any PersistentStore) throws {
      let vinyl = try store.insert("Vinyl", ["artist": .string("a")])
      let tag = try store.insert("Tag")
      let themes = try #require(store.entity("Vinyl").relationship(named: "themes"))
      guard case .links(let table, _) = themes.storage else { return }
      try store.save(.link(table, [Link(source: vinyl.key, target: tag.key)]))
    }
    func error(_ properties: any PropertyDeclaration...) throws -> CoherenceError {
      var changed = item
      changed.properties += properties
      return try refusal(of: [changed, stored[1], Entity("Vinyl", parent: "Item")], by: stored, fill: fill)
    }
    expect(
      try error(Attribute("artist", .string, optional: true)),
      toSay: "'Item.artist' is declared by 'Vinyl' in the store")
    expect(
      try error(Attribute("drawer", .string, optional: true, formerNames: ["artist"])),
      toSay: "'Item.drawer' is declared by 'Vinyl' as 'artist' in the store")
    expect(
      try error(Relationship("themes", toMany: "Tag", inverse: nil)),
      toSay: "'Item.themes' is declared as 'Vinyl.themes' in the store")
    expect(
      try refusal(of: [item, stored[1]], by: stored, fill: fill),
      toSay: "The model leaves out 'Vinyl', whose records share the table of 'Item'")
  }

  // MARK: Properties

  @Test func `another type of an attribute is refused with both types, and with the advice of a conversion`() throws {
    func thing(_ property: any PropertyDeclaration) -> [Entity] {
      [
        Entity("Thing") {
          Attribute("name", .string, optional: true)
          property
        }
      ]
    }
    func fill(_ store: any PersistentStore) throws { try store.insert("Thing", ["size": .int(7)]) }
    let numbers = thing(Attribute("size", .int64, optional: true))
    expect(
      try refusal(of: thing(Attribute("size", .string, optional: true)), by: numbers, fill: fill),
      toSay: "'Thing.size' is of type int64 in the store and string in the model; a conversion of the attribute, as "
        + "`converting`, keeps them")
    let reference = try refusal(
      of: thing(Relationship("size", toOne: "Thing", inverse: nil)), by: numbers, fill: fill)
    expect(reference, toSay: "'Thing.size' is of type int64 in the store and reference in the model")
    #expect(!reference.message.contains("converting"))
    // The values of a later model are not converted to the type of an older one.
    let older = try ManagedObjectModel(entities: numbers)
    let store = try place.open(older)
    try fill(store)
    store.close()
    let texts = thing(Attribute("size", .string, optional: true, converting: { _ in .string("seven") }))
    try place.open(ManagedObjectModel(entities: texts)).close()
    let error = try #require(throws: CoherenceError.self) { try place.open(older) }
    expect(error, toSay: "'Thing.size' is of type string in the store and int64 in the model")
    #expect(!error.message.contains("converting"))
  }

  // MARK: Relationships

  private static let tag = Entity("Tag") {
    Attribute("name", .string)
    Relationship("albums", toMany: "Album", inverse: "tags")
  }
  private static let artist = Entity("Artist") {
    Attribute("name", .string)
    Relationship("albums", toMany: "Album", inverse: "artist")
  }

  private static func album(_ artist: Relationship, _ tags: Relationship) -> Entity {
    Entity("Album") {
      Attribute("title", .string)
      artist
      tags
    }
  }

  private static let artistOfAlbum = Relationship("artist", toOne: "Artist", inverse: "albums")
  private static let tagsOfAlbum = Relationship("tags", toMany: "Tag", inverse: "albums")

  /// The error of a store with an album, its artist and its tag.
  private func refusal(of entities: [Entity]) throws -> CoherenceError {
    let stored = [Self.artist, Self.album(Self.artistOfAlbum, Self.tagsOfAlbum), Self.tag]
    return try refusal(of: entities, by: stored) { store in
      let artist = try store.insert("Artist", ["name": .string("Nina")])
      let album = try store.insert("Album", ["title": .string("One"), "artist": .reference(artist.id)])
      let tag = try store.insert("Tag", ["name": .string("jazz")])
      let tags = try #require(store.entity("Album").relationship(named: "tags"))
      guard case .links(let table, _) = tags.storage else { return }
      try store.save(.link(table, [Link(source: album.key, target: tag.key)]))
    }
  }

  @Test func `another kind of a relationship is refused with both kinds`() throws {
    let onlyAlbum = Entity("Artist") {
      Attribute("name", .string)
      Relationship("albums", toOne: "Album", inverse: "artist")
    }
    expect(
      try refusal(of: [onlyAlbum, Self.album(Self.artistOfAlbum, Self.tagsOfAlbum), Self.tag]),
      toSay: "'Artist.albums' is to-many in the store and to-one in the model")
    let artists = Relationship("artist", toMany: "Artist", inverse: "albums")
    expect(
      try refusal(of: [Self.artist, Self.album(artists, Self.tagsOfAlbum), Self.tag]),
      toSay: "'Album.artist' is to-one in the store and to-many in the model")
  }

  @Test func `another destination of a relationship, and another inverse, are refused`() throws {
    let name = Attribute("name", .string)
    let (plainArtist, plainTag) = (Entity("Artist") { name }, Entity("Tag") { name })
    let toTag = Relationship("artist", toOne: "Tag", inverse: nil)
    expect(
      try refusal(of: [plainArtist, Self.album(toTag, Self.tagsOfAlbum), Self.tag]),
      toSay: "'Album.artist' leads to 'Artist' in the store and to 'Tag' in the model")
    let oneWay = Relationship("tags", toMany: "Tag", inverse: nil)
    expect(
      try refusal(of: [Self.artist, Self.album(Self.artistOfAlbum, oneWay), plainTag]),
      toSay: "The inverse of 'tags' differs between the store and the model")
    let tagOfOne = Entity("Tag") {
      name
      Relationship("albums", toOne: "Album", inverse: "tags")
    }
    expect(
      try refusal(of: [Self.artist, Self.album(Self.artistOfAlbum, Self.tagsOfAlbum), tagOfOne]),
      toSay: "The inverse of 'Album.tags' is of another kind in the store than in the model")
  }

  // MARK: Rights

  @Test func `without the right to change the store, the entities that differ and the way out are named`() throws {
    let name = Attribute("name", .string)
    let stored = [Entity("Artist") { name }, Entity("Tag") { name }, Entity("Album") { name }]
    let changed = [Entity("Tag") { name }, Entity("Song") { name }]
    let differences = "The store differs from the model in: Album, Artist, Song. "
    expect(
      try refusal(of: changed, by: stored, [StoreOption.migrateAutomatically: false]),
      toSay: differences + "The option '\(StoreOption.migrateAutomatically)'")
    expect(
      try refusal(of: changed, by: stored, [StoreOption.readOnly: true]),
      toSay: differences + "It was opened to read only")
    expect(
      try refusal(of: changed, by: stored, [StoreOption.partialModel: true]),
      toSay: "The store does not have these entities as the model declares them: Song. ")
    expect(
      try refusal(of: [Entity("Song") { name }], by: stored),
      toSay: "with the entities Album, Artist, Tag; this model has none of them. Choose another file for it.")
  }

  @Test(arguments: [true, false])
  func `an entity without properties, in the store or in the model, is the entity of its name`(isPlainFirst: Bool)
    throws
  {
    let (plain, named) = (Entity("Thing"), Entity("Thing") { Attribute("name", .string, optional: true) })
    let store = try place.open(ManagedObjectModel(entities: [isPlainFirst ? plain : named]))
    try store.insert("Thing")
    store.close()
    let changed = try place.open(ManagedObjectModel(entities: [isPlainFirst ? named : plain]))
    #expect(try changed.fetch("Thing").count == 1)
  }

  // MARK: Duplicates

  @Test
  func `duplicates are refused with the numbers of their values and records, and with five of the oldest records`()
    throws
  {
    func things(_ uniqueness: [[String]]) -> [Entity] {
      [
        Entity("Thing", uniqueness: uniqueness) {
          Attribute("name", .string, optional: true)
          Attribute("number", .int64, optional: true)
        }
      ]
    }
    var oldest: [Int64] = []
    let error = try refusal(of: things([["name", "number"]]), by: things([])) { store in
      for round in 0..<3 {
        for number in 1...(round == 2 ? 1 : 7) {
          let row = try store.insert("Thing", ["name": .string("same"), "number": .int(Int64(number))])
          if round == 0 { oldest.append(row.key) }
        }
        // A missing value is equal to no other one.
        try store.insert("Thing", ["number": .int(1)])
        try store.insert("Thing", ["name": .string("same")])
      }
      try store.insert("Thing", ["name": .string("other"), "number": .int(1)])
    }
    let duplicates = try #require(error.duplicateKeys.first)
    #expect(error.duplicateKeys.count == 1)
    #expect(duplicates.entityName == "Thing" && duplicates.propertyNames == ["name", "number"])
    #expect(duplicates.valueCount == 7 && duplicates.recordCount == 15)
    #expect(duplicates.examples.map(\.key) == Array(oldest.prefix(5)))
    expect(error, toSay: "7 values are shared by 15 records")
    expect(error, toSay: "Remove the duplicates first, with a program that has the former model.")
  }
}
