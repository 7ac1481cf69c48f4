import CoherenceCore
import CoherenceSQLite
import TestSupport
import Testing

/// The statements of walks over 100 albums with ten tracks each, without and with prefetching.
@Suite struct WalkStatementTests {
  private let place: TemporaryStore
  private let log = MessageLog()
  private let context: ManagedObjectContext

  private final class Album: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let tracksKey = ToManyKey<Track>("tracks")
    var title: String { self[Self.titleKey] }
    var tracks: ToMany<Track> { self[Self.tracksKey] }
  }
  private final class Track: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let albumKey = ToOneKey<Album>("album")
    var title: String { self[Self.titleKey] }
    var album: Album? { self[Self.albumKey] }
  }

  init() throws {
    place = try TemporaryStore()
    let model = try ManagedObjectModel {
      Entity("Album", class: Album.self) {
        Attribute("title", .string)
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track", class: Track.self) {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try writer.performAndWait {
      for number in 0..<100 {
        let album = try Album(context: writer)
        try album.setValue("album \(number)", for: "title")
        for position in 0..<10 {
          let track = try Track(context: writer)
          try track.setValue("track \(position)", for: "title")
          try track.setObject(album, for: "album")
        }
      }
      try writer.save()
    }
    log.removeAll()
  }

  /// The number of tracks with a title, counted from the albums.
  private func titles(_ request: FetchRequest<Album>) throws -> Int {
    try context.performAndWait {
      try context.fetch(request).reduce(0) { $0 + $1.tracks.count { !$0.title.isEmpty } }
    }
  }

  @Test func `a walk from albums to tracks reads the albums, the tracks of the first 64 albums, and the other tracks`()
    throws
  {
    #expect(try titles(FetchRequest(Album.self)) == 1_000)
    #expect(log.reads.count == 3, "\(log.reads)")
  }

  @Test func `a walk with prefetched tracks reads the albums and the tracks`() throws {
    var request = FetchRequest(Album.self)
    request.relationshipsForPrefetching = ["tracks"]
    #expect(try titles(request) == 1_000)
    #expect(log.reads.count == 2, "\(log.reads)")
  }

  @Test func `a walk from tracks to albums reads the tracks, the albums of the first 64 tracks, and the other albums`()
    throws
  {
    let count = try context.performAndWait {
      try context.fetch(FetchRequest(Track.self)).count { $0.album?.title.isEmpty == false }
    }
    #expect(count == 1_000)
    #expect(log.reads.count == 3, "\(log.reads)")
  }

  @Test func `a walk with prefetched albums reads the tracks and the albums`() throws {
    var request = FetchRequest(Track.self)
    request.relationshipsForPrefetching = ["album"]
    let count = try context.performAndWait {
      try context.fetch(request).count { $0.album?.title.isEmpty == false }
    }
    #expect(count == 1_000)
    #expect(log.reads.count == 2, "\(log.reads)")
  }
}
