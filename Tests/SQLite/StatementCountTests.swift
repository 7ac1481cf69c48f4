import CoherenceCore
import TestSupport
import Testing

/// The statements of large walks and prefetches in the log of a SQLite store.
@Suite struct StatementCountTests {
  private typealias Album = WalkedAlbums.Album
  private typealias Track = WalkedAlbums.Track
  private typealias Artist = WalkedAlbums.Artist

  private let albums: WalkedAlbums

  private var context: ManagedObjectContext { albums.context }
  private var log: MessageLog { albums.log }

  private static let albumCount = 2000
  private static let artistCount = 500

  init() throws { albums = try WalkedAlbums() }

  /// Saves 2,000 albums, 19,000 tracks and 500 artists.
  private func fill() throws {
    try albums.write { writer in
      let artists = try (0..<Self.artistCount).map { number in
        let artist = try Artist(context: writer)
        try artist.setValue("artist \(number)", for: "name")
        return artist
      }
      for number in 0..<Self.albumCount {
        try WalkedAlbums.insert("album \(number)", trackCount: number.isMultiple(of: 2) ? 9 : 10, in: writer) {
          track, position in
          try track.setObject(artists[(number * 7 + position) % Self.artistCount], for: "artist")
        }
      }
    }
  }

  private func walk(_ request: FetchRequest<Album>) throws -> Int {
    try context.performAndWait {
      var names = 0
      for album in try context.fetch(request) {
        for track in album.tracks where track.artist?.name != nil { names += 1 }
      }
      return names
    }
  }

  @Test func `a walk over albums, tracks and artists sends at most eight statements`() throws {
    try fill()
    #expect(try walk(FetchRequest(Album.self)) == 19_000)
    #expect(log.reads.count <= 8, "\(log.reads)")
  }

  @Test func `a walk with prefetched tracks and artists sends at most eight statements`() throws {
    try fill()
    var request = FetchRequest(Album.self)
    request.relationshipsForPrefetching = ["tracks", "tracks.artist"]
    #expect(try walk(request) == 19_000)
    #expect(log.reads.count <= 8, "\(log.reads)")
  }

  @Test func `a to-one target read again sends no statement`() throws {
    try fill()
    try context.performAndWait {
      let track = try #require(try context.fetch(FetchRequest(Track.self).limit(1)).first)
      let name = track.artist?.name
      let before = log.reads.count
      for _ in 0..<100 { #expect(track.artist?.name == name) }
      #expect(log.reads.count == before)
    }
  }

  @Test func `the read of a single row is in the log, without its values`() throws {
    try fill()
    let id = try context.performAndWait {
      try #require(try context.fetch(FetchRequest(Artist.self).limit(1)).first).objectID
    }
    log.removeAll()
    try context.performAndWait { _ = try context.existingObject(with: id) }
    #expect(log.reads.count == 1)
    #expect(log.reads.allSatisfy { !$0.contains("artist 0") })
  }

  @Test func `a prefetch of more members than a context keeps reads each of them once`() throws {
    try albums.write { writer in try WalkedAlbums.insert("long", trackCount: 33_000, in: writer) }
    var request = FetchRequest(Album.self)
    request.relationshipsForPrefetching = ["tracks"]
    _ = try walk(request)
    #expect(log.reads.count == 2, "\(log.reads.map(\.count))")
  }

  @Test func `members of more owners than a statement takes parameters are prefetched`() throws {
    try albums.write { writer in
      for number in 0..<33_000 { try WalkedAlbums.insert("\(number)", trackCount: 0, in: writer) }
    }
    var request = FetchRequest(Album.self)
    request.relationshipsForPrefetching = ["tracks"]
    #expect(try walk(request) == 0)
    // One for the albums; 33,000 owners in pieces of 8,192.
    #expect(log.reads.count == 6, "\(log.reads.map(\.count))")
  }
}
