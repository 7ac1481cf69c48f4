import Coherence
import CoherencePostgreSQL
import Foundation

/// A Coherence store with 2,000 albums, 19,000 tracks and 500 artists.
final class MusicLibrary {
  static let trackCount = 19_000
  private static let (albumCount, artistCount) = (2_000, 500)

  let coordinator: PersistentStoreCoordinator
  private let store: any PersistentStore

  init(type: StoreType, location: URL, options: [String: OptionValue] = [:]) throws {
    let model = try ManagedObjectModel {
      AlbumObject.entityDeclaration
      TrackObject.entityDeclaration
      ArtistObject.entityDeclaration
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    store = try coordinator.addPersistentStore(type: type, at: location, options: options)
  }

  convenience init(_ server: PostgreSQLServer, schema: String) throws {
    try self.init(
      type: .postgreSQL, location: try PostgreSQLServer.location(of: server.url),
      options: [PostgreSQLOption.schema: .string(schema)])
  }

  func makeContext() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  func close() throws { try coordinator.remove(store) }

  func fill() throws {
    let context = makeContext()
    try context.performAndWait {
      let artists = try (0..<Self.artistCount).map { number in
        let artist = try ArtistObject(context: context)
        try artist.setValue("artist \(number)", for: "name")
        return artist
      }
      for number in 0..<Self.albumCount { try insertAlbum(number, artists, in: context) }
      try context.save()
    }
  }

  private func insertAlbum(_ number: Int, _ artists: [ArtistObject], in context: ManagedObjectContext) throws {
    let album = try AlbumObject(context: context)
    try album.setValue("album \(number)", for: "title")
    for place in 0..<(number.isMultiple(of: 2) ? 9 : 10) {
      let track = try TrackObject(context: context)
      try track.setValue("\(number)-\(place)", for: "title")
      track[TrackObject.albumKey] = album
      track[TrackObject.artistKey] = artists[(number * 7 + place) % artists.count]
    }
  }

  /// Walks from all albums over their tracks to the tracks' artists.
  func walk(prefetching paths: [String]) throws -> Sample {
    let context = makeContext()
    return try context.performAndWait {
      var request = FetchRequest(AlbumObject.self)
      request.relationshipsForPrefetching = paths
      return try Stopwatch.sample {
        var letters = 0
        let albums = try context.fetch(request)
        for album in albums {
          for track in album.tracks { letters += track.artist?.name.utf8.count ?? 0 }
        }
        return (UInt64(letters), albums)
      }
    }
  }

  /// Reads the artist of one track repeatedly.
  func readAgain(_ count: Int) throws -> Sample {
    let context = makeContext()
    return try context.performAndWait {
      var request = FetchRequest(TrackObject.self)
      request.fetchLimit = 1
      guard let track = try context.fetch(request).first, track.artist != nil else { throw BenchError("No track.") }
      return Stopwatch.sample {
        var sum: UInt = 0
        for _ in 0..<count { sum &+= track.artist.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0 }
        return (0, sum)
      }
    }
  }
}
