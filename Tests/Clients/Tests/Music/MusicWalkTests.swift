import Coherence
import Foundation
import Testing

@testable import MusicClient

@Suite("Walks through a music library")
struct MusicWalkTests {
  @Test(arguments: MusicStage.Store.available)
  func `a walk over all artists reads their albums, tracks and genres together`(
    _ store: MusicStage.Store
  ) async throws {
    let stage = try await MusicStage(on: store, artistCount: 400)
    let context = stage.container.newBackgroundContext()
    var names: [String] = []
    try expectNoRepeatedFaults {
      names = try context.performAndWait {
        try context.fetch(FetchRequest(Artist.self).sort(\.name)).flatMap { artist in
          artist.albums.flatMap { album in album.tracks.map(\.title) + album.genres.map(\.name) }
        }
      }
    }
    #expect(
      names.sorted() == stage.collection.albums.flatMap { $0.album.tracks.map(\.title) + $0.album.genres }.sorted())
  }

  @Test(arguments: MusicStage.Store.available)
  func `a look at a long list loads no member`(_ store: MusicStage.Store) async throws {
    let stage = try await MusicStage(on: store, artistCount: 2)
    let id = try await stage.container.performBackgroundTask { context in
      let album = try #require(try context.fetch(FetchRequest(Album.self).sort(\.title).limit(1)).first)
      for number in 0..<10_000 {
        let track = try Track(context: context)
        track.title = "Bonus \(number)"
        track.length = .seconds(60)
        album.tracks.append(track)
      }
      try context.save()
      return album.objectID
    }
    let looks = try await stage.count { context in
      let album = try #require(try context.objects(for: [id], as: Album.self).first)
      let (count, first) = (album.tracks.count, album.tracks.first?.title)
      let last = try album.tracks.fetch(limit: 3, offset: count - 3).map(\.title)
      let tracks = try context.fetch(FetchRequest(Track.self).filter { $0.title == "Bonus 5000" })
      let isMember = album.tracks.contains(try #require(tracks.first))
      return (count, first, last, isMember, context.registeredObjects.count)
    }
    let (count, first, last, isMember, registered) = looks.result
    #expect(count == 10_000 + stage.collection.albums[0].album.tracks.count)
    #expect(first == "Track 0-0-0" && last == ["Bonus 9997", "Bonus 9998", "Bonus 9999"] && isMember)
    #expect(registered <= 10)
  }
}
