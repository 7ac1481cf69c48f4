import Coherence

final class Artist: ManagedObject, DeclaredEntity {
  var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  var country: String? {
    get { self[Properties.table.country] }
    set { self[Properties.table.country] = newValue }
  }
  var albums: ToMany<Album> { self[Properties.table.albums] }

  struct Properties: EntityProperties {
    static let table = Properties()
    let name = AttributeKey<String>("name")
    let country = AttributeKey<String?>("country")
    let albums = ToManyKey<Album>("albums")
  }

  static var entityName: String { "Artist" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: Artist.self, uniqueness: [["name"]]) {
      Attribute("name", .string, validation: [.minimumLength(1)])
      Attribute("country", .string, optional: true)
      Relationship("albums", toMany: Album.entityName, deleteRule: .cascade)
    }
  }
  static var propertyNames: [AnyKeyPath: String] {
    [\Artist.name: "name", \Artist.country: "country", \Artist.albums: "albums"]
  }
}

final class Album: ManagedObject, DeclaredEntity {
  var title: String {
    get { self[Properties.table.title] }
    set { self[Properties.table.title] = newValue }
  }
  var year: Int? {
    get { self[Properties.table.year] }
    set { self[Properties.table.year] = newValue }
  }
  var artist: Artist? {
    get { self[Properties.table.artist] }
    set { self[Properties.table.artist] = newValue }
  }
  var tracks: OrderedToMany<Track> { self[Properties.table.tracks] }

  struct Properties: EntityProperties {
    static let table = Properties()
    let title = AttributeKey<String>("title")
    let year = AttributeKey<Int?>("year")
    let artist = ToOneKey<Artist>("artist")
    let tracks = OrderedToManyKey<Track>("tracks")
  }

  static var entityName: String { "Album" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: Album.self, indexes: [["year"]]) {
      Attribute("title", .string)
      Attribute("year", .int64, optional: true)
      Relationship("artist", toOne: Artist.entityName, inverse: "albums")
      Relationship("tracks", toMany: Track.entityName, ordered: true, deleteRule: .cascade)
    }
  }
  static var propertyNames: [AnyKeyPath: String] {
    [\Album.title: "title", \Album.year: "year", \Album.artist: "artist", \Album.tracks: "tracks"]
  }
}

final class Track: ManagedObject, DeclaredEntity {
  var title: String {
    get { self[Properties.table.title] }
    set { self[Properties.table.title] = newValue }
  }
  var album: Album? {
    get { self[Properties.table.album] }
    set { self[Properties.table.album] = newValue }
  }

  struct Properties: EntityProperties {
    static let table = Properties()
    let title = AttributeKey<String>("title")
    let album = ToOneKey<Album>("album")
  }

  static var entityName: String { "Track" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: Track.self) {
      Attribute("title", .string)
      Relationship("album", toOne: Album.entityName, inverse: "tracks")
    }
  }
  static var propertyNames: [AnyKeyPath: String] { [\Track.title: "title", \Track.album: "album"] }
}

/// The model of the articles.
enum Catalogue {
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(Artist.self, Album.self, Track.self, name: "Catalogue")
  }

  /// A container whose only store is in memory, and therefore empty and its own.
  static func container() throws -> GenericPersistentContainer<ContextStrategy.Mixed> {
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Catalogue", managedObjectModel: try model())
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    return container
  }

  /// A container with two artists, three albums and the tracks of one of them.
  static func filledContainer() async throws -> GenericPersistentContainer<ContextStrategy.Mixed> {
    let container = try container()
    try await container.performBackgroundTask { context in
      let nina = try artist("Nina Simone", "United States", in: context)
      let cesaria = try artist("Cesária Évora", "Cape Verde", in: context)
      let pastel = try album("Pastel Blues", 1965, by: nina, in: context)
      _ = try album("Wild Is the Wind", 1966, by: nina, in: context)
      _ = try album("Miss Perfumado", 1992, by: cesaria, in: context)
      for title in ["Be My Husband", "Strange Fruit", "Sinnerman"] {
        let track = try Track(context: context)
        track.title = title
        pastel.tracks.append(track)
      }
      try context.save()
    }
    return container
  }

  private static func artist(
    _ name: String, _ country: String, in context: ManagedObjectContext
  ) throws -> Artist {
    let artist = try Artist(context: context)
    artist.name = name
    artist.country = country
    return artist
  }

  private static func album(
    _ title: String, _ year: Int, by artist: Artist, in context: ManagedObjectContext
  ) throws -> Album {
    let album = try Album(context: context)
    album.title = title
    album.year = year
    album.artist = artist
    return album
  }
}
