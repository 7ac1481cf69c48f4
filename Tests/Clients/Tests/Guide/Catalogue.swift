import Coherence

final class Artist: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  static let countryKey = AttributeKey<String?>("country")
  static let albumsKey = ToManyKey<Album>("albums")

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var country: String? {
    get { self[Self.countryKey] }
    set { self[Self.countryKey] = newValue }
  }
  var albums: ToMany<Album> { self[Self.albumsKey] }
}

final class Album: ManagedObject {
  static let titleKey = AttributeKey<String>("title")
  static let yearKey = AttributeKey<Int?>("year")
  static let artistKey = ToOneKey<Artist>("artist")
  static let tracksKey = OrderedToManyKey<Track>("tracks")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var year: Int? {
    get { self[Self.yearKey] }
    set { self[Self.yearKey] = newValue }
  }
  var artist: Artist? {
    get { self[Self.artistKey] }
    set { self[Self.artistKey] = newValue }
  }
  var tracks: OrderedToMany<Track> { self[Self.tracksKey] }
}

final class Track: ManagedObject {
  static let titleKey = AttributeKey<String>("title")
  static let albumKey = ToOneKey<Album>("album")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var album: Album? {
    get { self[Self.albumKey] }
    set { self[Self.albumKey] = newValue }
  }
}

extension Artist: KeyPathNaming {
  static var propertyNames: [AnyKeyPath: String] {
    [\Artist.name: "name", \Artist.country: "country", \Artist.albums: "albums"]
  }
}

extension Album: KeyPathNaming {
  static var propertyNames: [AnyKeyPath: String] {
    [\Album.title: "title", \Album.year: "year", \Album.artist: "artist", \Album.tracks: "tracks"]
  }
}

extension Track: KeyPathNaming {
  static var propertyNames: [AnyKeyPath: String] { [\Track.title: "title", \Track.album: "album"] }
}

/// The model of the articles.
enum Catalogue {
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "Catalogue") {
      Entity("Artist", class: Artist.self, uniqueness: [["name"]]) {
        Attribute("name", .string, validation: [.minimumLength(1)])
        Attribute("country", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "artist", deleteRule: .cascade)
      }
      Entity("Album", class: Album.self, indexes: [["year"]]) {
        Attribute("title", .string)
        Attribute("year", .int64, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tracks", toMany: "Track", inverse: "album", ordered: true, deleteRule: .cascade)
      }
      Entity("Track", class: Track.self) {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
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
