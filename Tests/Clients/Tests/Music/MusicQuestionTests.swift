import Coherence
import Foundation
import Testing

@testable import MusicClient

@Suite("The everyday questions of a music library")
struct MusicQuestionTests {
  @Test(arguments: MusicStage.Store.available)
  func `albums and artists are found by their members, with one fetch for each question`(
    _ store: MusicStage.Store
  ) async throws {
    let stage = try await MusicStage(on: store)
    let albums = stage.collection.albums
    let byLength = albums.sorted {
      ($1.album.tracks.count, $0.album.title) < ($0.album.tracks.count, $1.album.title)
    }
    let longest = try await stage.count { try MusicQuestions.longestAlbums(10, in: $0) }
    #expect(longest.result == Array(byLength.map(\.album.title).prefix(10)) && longest.operations == [.fetch: 1])
    let withoutAlbums = try await stage.count { try MusicQuestions.artistsWithoutAlbums(in: $0) }
    #expect(withoutAlbums.result == stage.collection.artists.count { $0.albums.isEmpty })
    // A count fetches nothing.
    #expect(withoutAlbums.operations == [:])
    let short = try await stage.count { try MusicQuestions.albumsOfShortTracks(in: $0) }
    #expect(short.result == albums.count { $0.album.tracks.allSatisfy { $0.seconds < 300 } })
    #expect(short.operations == [:])
    let latest = try await stage.count { try MusicQuestions.artistsByLatestAlbum(5, in: $0) }
    #expect(latest.result == Array(Self.artistsByLatestAlbum(stage.collection).prefix(5)))
    #expect(latest.operations == [.fetch: 1])
  }

  @Test(arguments: MusicStage.Store.available)
  func `sums, averages and groups equal the results of a calculation in Swift, with one fetch for each question`(
    _ store: MusicStage.Store
  ) async throws {
    let stage = try await MusicStage(on: store)
    let albums = stage.collection.albums
    let times = try await stage.count { context in
      try MusicQuestions.playingTimes(in: context).map { "\($0.artist ?? ""): \($0.time)" }
    }
    #expect(times.result == Self.playingTimes(stage.collection) && times.operations == [.fetch: 1])
    let years = try await stage.count { try MusicQuestions.fruitfulYears(3, in: $0) }
    let albumsByYear = Dictionary(grouping: albums, by: \.album.year).mapValues(\.count)
    #expect(years.result == albumsByYear.filter { $0.value >= 3 } && years.operations == [.fetch: 1])
    let average = try await stage.count { try MusicQuestions.averageRating(of: "Morna", in: $0) }
    let ratings = albums.filter { $0.album.genres.contains("Morna") }.flatMap(\.album.tracks).compactMap(\.rating)
    // The ratings are halves, whose sums are exact.
    #expect(average.result == ratings.reduce(0, +) / Double(ratings.count) && average.operations == [.fetch: 1])
    let countries = try await stage.count { try MusicQuestions.countries(in: $0) }
    #expect(Set(countries.result) == Set(stage.collection.artists.filter { !$0.albums.isEmpty }.map(\.country)))
    #expect(countries.operations == [.fetch: 1])
  }

  @Test(arguments: MusicStage.Store.available)
  func `a search ignores case and diacritics, and pages follow each other`(
    _ store: MusicStage.Store
  ) async throws {
    let stage = try await MusicStage(on: store)
    let found = try await stage.count { try MusicQuestions.artists(like: "CESARIA", in: $0) }
    #expect(found.result == ["Cesária Évora"] && found.operations == [.fetch: 1])
    let pages = try await stage.count { context in
      try (0..<3).flatMap { try MusicQuestions.unplayedTracks(20, offset: $0 * 20, in: context) }
    }
    let unplayed = stage.collection.albums
      .sorted { ($0.artist.name, $0.album.title) < ($1.artist.name, $1.album.title) }
      .flatMap { $0.album.tracks.filter { $0.plays == 0 }.map(\.title).sorted() }
    #expect(pages.result == Array(unplayed.prefix(60)) && pages.operations == [.fetch: 3])
  }

  // MARK: Expected answers

  private static func artistsByLatestAlbum(_ collection: MusicCollection) -> [String] {
    let latest = collection.artists.compactMap { artist in
      artist.albums.map(\.year).max().map { (year: $0, name: artist.name) }
    }
    return latest.sorted { ($1.year, $0.name) < ($0.year, $1.name) }.map(\.name)
  }

  private static func playingTimes(_ collection: MusicCollection) -> [String] {
    let times = collection.artists.filter { !$0.albums.isEmpty }.map { artist in
      (name: artist.name, seconds: artist.albums.flatMap(\.tracks).reduce(0) { $0 + $1.seconds })
    }
    return times.sorted { ($1.seconds, $0.name) < ($0.seconds, $1.name) }
      .map { "\($0.name): \(Duration.seconds($0.seconds))" }
  }
}
