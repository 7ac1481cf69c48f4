import CoherenceCore
import CoherenceInMemory
import Testing

/// A store of artists, albums and genres, and short ways to write rows, steps and questions.
struct MusicFixture {
  let model: ManagedObjectModel
  let store: any PersistentStore
  let artist: EntityDescription
  let album: EntityDescription
  let liveAlbum: EntityDescription
  let genre: EntityDescription

  init(model: ManagedObjectModel? = nil, options: [String: OptionValue] = [:]) throws {
    let model = try model ?? Self.makeModel()
    let environment = StoreEnvironment(type: .inMemory, url: nil, model: model, options: options)
    self.model = model
    store = try #require(StoreType.inMemory.factory).open(environment)
    artist = try model.entity(named: "Artist")
    album = try model.entity(named: "Album")
    liveAlbum = try model.entity(named: "LiveAlbum")
    genre = try model.entity(named: "Genre")
  }

  static func makeModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Artist", uniqueness: [["name"]]) {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "artist", ordered: true)
      }
      Entity("Album") {
        Attribute("title", .string)
        Attribute("year", .int64, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("sequel", toOne: "Album", inverse: nil)
        Relationship("genres", toMany: "Genre", inverse: "albums", ordered: true)
      }
      Entity("LiveAlbum", parent: "Album", uniqueness: [["venue", "year"]]) {
        Attribute("venue", .string, optional: true)
      }
      Entity("Genre") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "genres")
      }
    }
  }

  /// Opens a store of a configuration without the entity "B", and returns the store and that entity.
  static func storeWithoutEntity() throws -> (store: any PersistentStore, other: EntityDescription) {
    let model = try ManagedObjectModel(configurations: ["One": ["A"]]) {
      Entity("A") { Attribute("x", .int64) }
      Entity("B") { Attribute("x", .int64) }
    }
    let environment = StoreEnvironment(type: .inMemory, url: nil, configurationName: "One", model: model)
    return (try #require(StoreType.inMemory.factory).open(environment), try model.entity(named: "B"))
  }

  func id(_ entity: EntityDescription, _ key: Int64) -> ManagedObjectID {
    ManagedObjectID(space: store.spaces[entity], key: key)
  }

  /// Makes a row with the given values; all other values are null.
  func row(_ entity: EntityDescription, _ key: Int64, version: Int64 = 1, _ values: [String: AttributeValue]) -> Row {
    let slots = entity.slots.map { values[$0.name] ?? .null }
    return Row.make(id: id(entity, key), entity: entity, version: version, values: slots)
  }

  func slots(_ entity: EntityDescription, _ names: String...) -> SlotSet {
    SlotSet(entity.slots.indices.filter { names.contains(entity.slots[$0].name) })
  }

  func value(_ name: String, of row: Row) throws -> AttributeValue {
    row[try #require(row.entity.slots.firstIndex { $0.name == name })]
  }

  /// The table of albums (sources or targets) and genres.
  func links() throws -> LinkTable {
    guard case .links(let table, _)? = album.relationship(named: "genres")?.storage else {
      throw CoherenceError(.invalidModel, "Albums and genres are not linked.")
    }
    return table
  }

  /// A link of the table of albums and genres, whichever side is the source.
  func link(album: Int64, genre: Int64, at place: Int64? = nil) throws -> Link {
    let isForward = try links().forward.entity === self.album
    return isForward
      ? Link(source: album, target: genre, sourcePosition: place)
      : Link(source: genre, target: album, targetPosition: place)
  }

  /// Genres of albums, in order.
  func genres(of albums: [Int64]) throws -> [Int64] {
    let reader = try store.makeReader()
    defer { reader.finish() }
    let isForward = try links().forward.entity === album
    return try reader.links(links(), of: albums, fromSource: isForward).map { isForward ? $0.target : $0.source }
  }

  func save(_ steps: SaveStep...) throws { try store.save(StoreSaveRequest(steps: steps)) }

  /// Adds an artist with two albums and one live album.
  func addBand() throws {
    let reference = AttributeValue.reference(id(artist, 1))
    try save(
      .insert(artist, [row(artist, 1, ["name": .string("Can")])]),
      .insert(
        album,
        [
          row(album, 1, ["title": .string("Tago Mago"), "year": .int(1971), "artist": reference]),
          row(album, 2, ["title": .string("Soon Over"), "year": .int(1973), "artist": reference]),
          row(album, 3, ["title": .string("Untitled")]),
        ]),
      .insert(liveAlbum, [row(liveAlbum, 4, ["title": .string("Live"), "year": .int(1975), "artist": reference])]))
  }

  func row(_ entity: EntityDescription, at key: Int64) throws -> Row? {
    let reader = try store.makeReader()
    defer { reader.finish() }
    return try reader.row(key, of: entity.root)
  }

  /// The keys that a query finds, in its order.
  func keys(_ query: StoreQuery) throws -> [Int64] {
    let reader = try store.makeReader()
    defer { reader.finish() }
    return try Self.keys(query, reader)
  }

  static func keys(_ query: StoreQuery, _ reader: any StoreReader) throws -> [Int64] {
    let fetch = try reader.fetch(query)
    #expect(fetch.isPredicateExact && fetch.isOrderExact && fetch.isRangeExact)
    var rows: [Row] = []
    while try fetch.cursor.next(into: &rows) {}
    return rows.map(\.key)
  }

  /// The error that an operation throws.
  static func error(of operation: () throws -> Void) throws -> CoherenceError {
    try #require(throws: CoherenceError.self) { try operation() }
  }
}

extension FetchPredicate {
  /// Whether a property has a value.
  static func equal(_ path: String, _ value: AttributeValue) -> FetchPredicate {
    .comparison(.path(PropertyPath(path)), .equal, .value(value))
  }
}
