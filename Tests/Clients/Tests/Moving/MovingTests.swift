import Coherence
import Foundation
import Testing

@Suite("The program of the articles for newcomers from other libraries")
struct MovingTests {
  /// Runs a block with a library in a temporary directory.
  private func withLibrary(_ body: (MusicLibrary.Container, URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let container = try MusicLibrary.open(in: directory)
    try await body(container, directory)
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
  }

  @Test func `albums are inserted and queried`() async throws {
    try await withLibrary { container, _ in
      try await MusicLibrary.insert(in: container)
      #expect(try await MusicLibrary.titles(in: container) == ["Pastel Blues"])
    }
  }

  @Test func `tracks of an album are inserted and queried over the relationship`() async throws {
    try await withLibrary { container, _ in
      try await MusicLibrary.insert(in: container)
      try await MusicLibrary.addTrack(in: container)
      #expect(try await MusicLibrary.longTracks(in: container) == ["Pastel Blues: Sinnerman"])
    }
  }

  @Test func `an identifier leads from a background task to the view`() async throws {
    try await withLibrary { container, _ in
      let ids = try await MusicLibrary.importAlbums(["Silk & Soul", "Wild Is the Wind"], into: container)
      let id = try #require(ids.first)
      #expect(try await MusicLibrary.title(of: id, in: container) == "Silk & Soul")
    }
  }

  @Test func `an observer gets the albums of now and after a save`() async throws {
    try await withLibrary { container, _ in
      let titles = try await Self.observedTitles(of: container)
      #expect(titles == [[], ["Pastel Blues"]])
    }
  }

  /// Inserts an album after the first call of an observer, and returns the titles of all calls.
  @MainActor private static func observedTitles(of container: MusicLibrary.Container) async throws -> [[String]] {
    var titles: [[String]] = []
    var failure: (any Error)?
    try await MusicLibrary.observe(container) { albums in
      titles.append(albums.map(\.title))
      if albums.isEmpty {
        do { try MusicLibrary.insert(in: container) } catch { failure = error }
      }
      return failure == nil && albums.isEmpty
    }
    if let failure { throw failure }
    return titles
  }

  @Test func `the next version renames an attribute and keeps the values`() async throws {
    try await withLibrary { container, directory in
      try await MusicLibrary.insert(in: container)
      try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
      let next = try NextMusicLibrary.open(in: directory)
      let albums = try await next.viewContext.perform { view in
        try view.snapshots(of: FetchRequest(NextMusicLibrary.Album.self))
      }
      #expect(albums.map(\.name) == ["Pastel Blues"])
      #expect(albums.map(\.isFavourite) == [false])
      try next.detach(persistentStores: next.persistentStoreCoordinator.persistentStores)
    }
  }
}
