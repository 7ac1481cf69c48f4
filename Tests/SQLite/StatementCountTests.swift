import CoherenceCore
import CoherenceSQLite
import Foundation
import TestSupport
import Testing

/// The statements of a walk in the log of a SQLite store.
@Suite struct StatementCountTests {
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
    static let artistKey = ToOneKey<Artist>("artist")
    var title: String { self[Self.titleKey] }
    var artist: Artist? { self[Self.artistKey] }
  }
  private final class Artist: ManagedObject {
    static let nameKey = AttributeKey<String>("name")
    var name: String { self[Self.nameKey] }
  }

  private static let albumCount = 2000
  private static let artistCount = 500

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
        Relationship("artist", toOne: "Artist", inverse: nil)
      }
      Entity("Artist", class: Artist.self) { Attribute("name", .string) }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Saves 2,000 albums, 19,000 tracks and 500 artists.
  private func fill() throws {
    let writer = ManagedObjectContext(
      concurrencyType: .privateQueue, coordinator: try #require(context.persistentStoreCoordinator))
    try writer.performAndWait {
      let artists = try (0..<Self.artistCount).map { number in
        let artist = try Artist(context: writer)
        try artist.setValue("artist \(number)", for: "name")
        return artist
      }
      for number in 0..<Self.albumCount {
        let album = try Album(context: writer)
        try album.setValue("album \(number)", for: "title")
        for place in 0..<(number.isMultiple(of: 2) ? 9 : 10) {
          let track = try Track(context: writer)
          try track.setValue("\(number)-\(place)", for: "title")
          try track.setObject(album, for: "album")
          try track.setObject(artists[(number * 7 + place) % Self.artistCount], for: "artist")
        }
      }
      try writer.save()
    }
    log.removeAll()
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
    let writer = ManagedObjectContext(
      concurrencyType: .privateQueue, coordinator: try #require(context.persistentStoreCoordinator))
    try writer.performAndWait {
      let album = try Album(context: writer)
      try album.setValue("long", for: "title")
      for number in 0..<33_000 {
        let track = try Track(context: writer)
        try track.setValue("\(number)", for: "title")
        try track.setObject(album, for: "album")
      }
      try writer.save()
    }
    log.removeAll()
    var request = FetchRequest(Album.self)
    request.relationshipsForPrefetching = ["tracks"]
    _ = try walk(request)
    #expect(log.reads.count == 2, "\(log.reads.map(\.count))")
  }

  @Test func `members of more owners than a statement takes parameters are prefetched`() throws {
    let writer = ManagedObjectContext(
      concurrencyType: .privateQueue, coordinator: try #require(context.persistentStoreCoordinator))
    try writer.performAndWait {
      for number in 0..<33_000 { try Album(context: writer).setValue("\(number)", for: "title") }
      try writer.save()
    }
    log.removeAll()
    var request = FetchRequest(Album.self)
    request.relationshipsForPrefetching = ["tracks"]
    #expect(try walk(request) == 0)
    // One for the albums; 33,000 owners in pieces of 8,192.
    #expect(log.reads.count == 6, "\(log.reads.map(\.count))")
  }
}
