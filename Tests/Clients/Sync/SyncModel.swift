import Coherence
import CoherenceModelMacros

@Entity final class Artist: ManagedObject {
  @Attribute(.unique) var id: Int64
  var name: String
  var songs: ToMany<Song>
}

@Entity final class Genre: ManagedObject {
  @Attribute(.unique) var id: Int64
  var name: String
  var songs: ToMany<Song>
}

@Entity final class Song: ManagedObject {
  @Attribute(.unique) var id: Int64
  var title: String
  var note: String?
  @Relationship(inverse: \Artist.songs) var artist: Artist?
  @Relationship(inverse: \Genre.songs) var genres: ToMany<Genre>

  /// The song in the service's format; `nil` without an artist.
  var record: SongRecord? {
    guard let artist else { return nil }
    return SongRecord(id: id, title: title, note: note, artist: artist.id, genres: genres.map(\.id).sorted())
  }
}

/// The progress of a client through the pages of the service.
@Entity("Progress") final class SyncProgress: ManagedObject {
  @Attribute(.unique) var client: String
  var cursor: String?
}

enum SyncModel {
  static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel(Artist.self, Genre.self, Song.self, SyncProgress.self, name: "Sync")
  }
}
