import Coherence

final class Artist: ManagedObject {
  static let idKey = AttributeKey<Int64>("id")
  var id: Int64 { self[Self.idKey] }
}

final class Genre: ManagedObject {
  static let idKey = AttributeKey<Int64>("id")
  var id: Int64 { self[Self.idKey] }
}

final class Song: ManagedObject {
  static let idKey = AttributeKey<Int64>("id")
  static let titleKey = AttributeKey<String>("title")
  static let noteKey = AttributeKey<String?>("note")
  static let artistKey = ToOneKey<Artist>("artist")
  static let genresKey = ToManyKey<Genre>("genres")

  var id: Int64 {
    get { self[Self.idKey] }
    set { self[Self.idKey] = newValue }
  }
  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }

  /// The song in the service's format; `nil` without an artist.
  var record: SongRecord? {
    guard let artist = self[Self.artistKey] else { return nil }
    let genres = self[Self.genresKey].map(\.id).sorted()
    return SongRecord(id: id, title: title, note: self[Self.noteKey], artist: artist.id, genres: genres)
  }
}

/// The progress of a client through the pages of the service.
final class SyncProgress: ManagedObject {
  static let cursorKey = AttributeKey<String?>("cursor")
  var cursor: String? { self[Self.cursorKey] }
}

enum SyncModel {
  static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "Sync") {
      Entity("Artist", class: Artist.self, uniqueness: [["id"]]) {
        Attribute("id", .int64)
        Attribute("name", .string)
        Relationship("songs", toMany: "Song", inverse: "artist")
      }
      Entity("Genre", class: Genre.self, uniqueness: [["id"]]) {
        Attribute("id", .int64)
        Attribute("name", .string)
        Relationship("songs", toMany: "Song", inverse: "genres")
      }
      Entity("Song", class: Song.self, uniqueness: [["id"]]) {
        Attribute("id", .int64)
        Attribute("title", .string)
        Attribute("note", .string, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "songs")
        Relationship("genres", toMany: "Genre", inverse: "songs")
      }
      Entity("Progress", class: SyncProgress.self, uniqueness: [["client"]]) {
        Attribute("client", .string)
        Attribute("cursor", .string, optional: true)
      }
    }
  }
}
