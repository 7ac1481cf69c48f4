import CoherenceCore
import TestSupport

/// A SQLite store of albums with tracks, and of the artists of tracks, for the statements of walks over them.
struct WalkedAlbums {
  final class Album: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let tracksKey = ToManyKey<Track>("tracks")
    var title: String { self[Self.titleKey] }
    var tracks: ToMany<Track> { self[Self.tracksKey] }
  }
  final class Track: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let albumKey = ToOneKey<Album>("album")
    static let artistKey = ToOneKey<Artist>("artist")
    var title: String { self[Self.titleKey] }
    var album: Album? { self[Self.albumKey] }
    var artist: Artist? { self[Self.artistKey] }
  }
  final class Artist: ManagedObject {
    static let nameKey = AttributeKey<String>("name")
    var name: String { self[Self.nameKey] }
  }

  private let stack: LoggedStore
  /// The context of the walks.
  let context: ManagedObjectContext

  var log: MessageLog { stack.log }

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album", class: Album.self) {
        Attribute("title", .string)
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track", class: Track.self) {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
        Relationship("artist", toOne: "Artist", inverse: nil)
      }
      Entity("Artist", class: Artist.self) { Attribute("name", .string) }
    }
    stack = try LoggedStore(.sqlite, model)
    context = stack.context()
  }

  /// Runs a block in another context, saves, and empties the log.
  func write(_ body: (ManagedObjectContext) throws -> Void) throws {
    try stack.write(body)
    log.removeAll()
  }

  /// Inserts an album with tracks, whose titles are their positions.
  static func insert(
    _ title: String, trackCount: Int, in context: ManagedObjectContext, track: (Track, Int) throws -> Void = { _, _ in }
  ) throws {
    let album = try Album(context: context)
    try album.setValue(title, for: "title")
    for position in 0..<trackCount {
      let inserted = try Track(context: context)
      try inserted.setValue("\(position)", for: "title")
      try inserted.setObject(album, for: "album")
      try track(inserted, position)
    }
  }
}
