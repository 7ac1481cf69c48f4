import Coherence
import CoherenceModelMacros
import Foundation

@Entity final class Artist: ManagedObject {
  @Attribute(.unique) var name: String
  var country: String?
  @Relationship(deleteRule: .cascade) var albums: ToMany<Album>
}

@Entity final class Album: ManagedObject {
  var title: String
  var year: Int
  @Relationship(inverse: \Artist.albums) var artist: Artist?
  @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
  var genres: ToMany<Genre>
}

@Entity final class Track: ManagedObject {
  var title: String
  var length: Duration
  var plays: Int = 0
  var rating: Double?
  @Relationship(inverse: \Album.tracks) var album: Album?
}

@Entity final class Genre: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: \Album.genres) var albums: ToMany<Album>
}

enum Music {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>

  /// One model for all containers, because an in-memory store is opened with one model at a time.
  static let model = Result { try ManagedObjectModel(Artist.self, Album.self, Track.self, Genre.self, name: "Music") }

  static func open(_ store: StoreConfiguration, in directory: URL) throws -> Container {
    let container = Container(name: "Music", managedObjectModel: try model.get(), storeLocation: directory)
    try container.attachPersistentStores(for: [store])
    return container
  }
}
