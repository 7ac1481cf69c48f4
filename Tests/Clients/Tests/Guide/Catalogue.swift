import Coherence
import CoherenceModelMacros

@Entity final class Artist: ManagedObject {
  @Attribute(.unique, .minimumLength(1)) var name: String
  var country: String?
  @Relationship(deleteRule: .cascade) var albums: ToMany<Album>
}

@Entity final class Album: ManagedObject {
  var title: String
  @Attribute(.indexed) var year: Int?
  @Relationship(inverse: \Artist.albums) var artist: Artist?
  @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
}

// Declared without the macro; the landing page of CoherenceCore shows the class.
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
