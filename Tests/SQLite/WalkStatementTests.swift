import CoherenceCore
import TestSupport
import Testing

/// The statements of walks over 100 albums with ten tracks each, without and with prefetching.
@Suite struct WalkStatementTests {
  private typealias Album = WalkedAlbums.Album
  private typealias Track = WalkedAlbums.Track

  private let albums: WalkedAlbums

  private var context: ManagedObjectContext { albums.context }
  private var log: MessageLog { albums.log }

  init() throws {
    albums = try WalkedAlbums()
    try albums.write { writer in
      for number in 0..<100 { try WalkedAlbums.insert("album \(number)", trackCount: 10, in: writer) }
    }
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
    // The tracks come in the order of the index of their albums.
    #expect(log.reads.last.map { !$0.contains("ORDER BY") } == true, "\(log.reads)")
  }

  @Test func `the tracks of many albums are counted together after a refresh of all objects under an unsaved delete`()
    throws
  {
    try context.performAndWait {
      context.delete(try #require(try context.fetch(FetchRequest(Track.self).limit(1)).first))
      try context.processPendingChanges()
      context.refreshAll()
      log.removeAll()
      let count = try context.fetch(FetchRequest(Album.self)).reduce(0) { $0 + $1.tracks.count }
      #expect(count == 999)
      #expect(log.reads.count <= 8, "\(log.reads)")
    }
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
