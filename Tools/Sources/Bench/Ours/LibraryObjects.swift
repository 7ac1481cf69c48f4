import Coherence

/// Albums, their tracks and the tracks' artists, for the walk.
final class AlbumObject: ManagedObject {
  static let tracksKey = ToManyKey<TrackObject>("tracks")
  var tracks: ToMany<TrackObject> { self[Self.tracksKey] }

  static let entityDeclaration = Entity("Album", class: AlbumObject.self) {
    Attribute("title", .string)
    Relationship("tracks", toMany: "Track", inverse: "album")
  }
}

final class TrackObject: ManagedObject {
  static let albumKey = ToOneKey<AlbumObject>("album")
  static let artistKey = ToOneKey<ArtistObject>("artist")
  var artist: ArtistObject? { self[Self.artistKey] }

  static let entityDeclaration = Entity("Track", class: TrackObject.self) {
    Attribute("title", .string)
    Relationship("album", toOne: "Album", inverse: "tracks")
    Relationship("artist", toOne: "Artist", inverse: nil)
  }
}

final class ArtistObject: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  var name: String { self[Self.nameKey] }

  static let entityDeclaration = Entity("Artist", class: ArtistObject.self) { Attribute("name", .string) }
}
