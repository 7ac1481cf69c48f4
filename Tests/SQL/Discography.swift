import CoherenceCore
import TestSupport

/// Artists with albums, whose tracks, songs in an order, and tags conditions read.
struct Discography {
  let stack: LoggedStore

  init(_ backend: Backend, albums: Int) throws {
    let model = try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int64, default: 0)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tracks", toMany: "Track", inverse: "album")
        Relationship("songs", toMany: "Song", inverse: "album", ordered: true)
        Relationship("tags", toMany: "Tag", inverse: "albums")
      }
      Entity("Track") {
        Attribute("title", .string, optional: true)
        Attribute("seconds", .int64, default: 1)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
      Entity("Song") {
        Attribute("title", .string, optional: true)
        Relationship("album", toOne: "Album", inverse: "songs")
      }
      Entity("Tag") {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
    }
    stack = try LoggedStore(backend, model)
    try stack.write { try Self.fill($0, albums: albums) }
  }

  /// Inserts albums with four tracks, two songs and two tags each, five albums of an artist.
  private static func fill(_ context: ManagedObjectContext, albums: Int) throws {
    let tags = try (0..<7).map { try make("Tag", "name", "tag \($0)", context) }
    var artist: ManagedObject?
    for number in 0..<albums {
      if number.isMultiple(of: 5) { artist = try make("Artist", "name", "artist \(number)", context) }
      let album = try make("Album", "title", "album \(number)", context)
      try album.setValue(number % 4, for: "year")
      try album.setObject(artist, for: "artist")
      try album.setObjects([tags[number % 7], tags[(number + 1) % 7]], for: "tags")
      for index in 0..<4 {
        let track = try make("Track", "title", "track \(index)", context)
        try track.setValue(index * 10 + number % 10, for: "seconds")
        try track.setObject(album, for: "album")
        if index < 2 { try make("Song", "title", "song \(index)", context).setObject(album, for: "album") }
      }
    }
  }

  @discardableResult
  static func make(
    _ entity: String, _ name: String, _ text: String, _ context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    try object.setValue(text, for: name)
    return object
  }

  /// Conditions on albums that read related records.
  static let conditions = [
    "tracks.@count > 3", "tags.@count > 1", "songs.@count == 2", "ANY tracks.title == 'track 1'",
    "ANY tracks.title CONTAINS[cd] 'TRACK 2'", "NOT (ANY tracks.seconds > 35)", "ALL tracks.title MATCHES 'track .*'",
    "ANY tags.name MATCHES 'tag [0-3]'", "ANY songs.title MATCHES 'song .*'",
    "SUBQUERY(tracks, $t, $t.title MATCHES 'track .*' AND $t.seconds > 13).@count > 1", "tracks.@sum.seconds > 70",
    "tracks.@max.seconds > 36", "artist.name MATCHES 'artist .*'", "artist.name == 'artist 5' OR title == 'album 2'",
    "artist.albums.@count > 4", "ANY artist.albums.title MATCHES 'album .*'", "tracks.@count == songs.@count",
    "ANY tags.albums.title MATCHES 'album .*1'",
  ]

  static func request(_ condition: String) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.predicate = try FetchPredicate(format: condition)
    return request
  }
}
