import CoherenceCore
import Foundation
import Testing

/// Orders, pages and former targets by the keys of declared classes.
@Suite struct DeclaredMemberTests {
  private typealias Track = DeclaredMusic.Track
  private typealias Release = DeclaredMusic.Release
  private typealias Single = DeclaredMusic.Single
  private let context: ManagedObjectContext

  init() throws {
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: DeclaredMusic.makeModel()))
    try context.performAndWait {
      let release = try Release(context: context)
      release.name = "Abbey"
      for (title, length) in [("a", 3), ("B", 1), ("c", 2)] {
        let track = try Track(context: context)
        (track.title, track.length, track.release) = (title, length, release)
      }
      let single = try Single(context: context)
      (single.name, single.chart) = ("Original", 1)
      for name in ["x", "Y", "z"] {
        let cover = try Single(context: context)
        (cover.name, cover.chart, cover.cover) = (name, 2, single)
      }
      try context.save()
    }
  }

  private func release() throws -> Release {
    try #require(try context.fetch(FetchRequest(Release.self).filter { $0.name == "Abbey" }).first)
  }

  @Test func `a criterion of order keeps its options and its direction in every form`() throws {
    let caseless = [SortKey("title", .reverse, options: .caseInsensitive)]
    #expect(FetchRequest(Track.self).sort("title", .reverse, options: .caseInsensitive).sortKeys == caseless)
    #expect(FetchRequest(Track.self).sort(\.title, .reverse, options: .caseInsensitive).sortKeys == caseless)
    let descriptors = [SortDescriptor(\Track.title, order: .reverse)]
    #expect(try FetchRequest(Track.self).sort(descriptors, options: .caseInsensitive).sortKeys == caseless)
    let grouped = FetchRequest(Track.self).grouped { ($0.title, $0.count) }
    #expect(grouped.sort(\.title, .reverse, options: .caseInsensitive).request.sortKeys == caseless)
    #expect(
      FetchRequest(Track.self).sort(\.release.name, options: .diacriticInsensitive).sortKeys
        == [SortKey("release.name", options: .diacriticInsensitive)])
  }

  @Test func `a request for members orders them with the options of its criteria`() throws {
    try context.performAndWait {
      let tracks = try release().tracks
      let byBytes = try tracks.request.sort(\.title).fetch()
      #expect(byBytes.map(\.title) == ["B", "a", "c"])
      let caseless = try tracks.request.sort(\.title, options: .caseInsensitive).fetch()
      #expect(caseless.map(\.title) == ["a", "B", "c"])
      let reversed = try tracks.request.sort("title", .reverse, options: .caseInsensitive).fetch()
      #expect(reversed.map(\.title) == ["c", "B", "a"])
      let keys = [SortKey("release.name"), SortKey("length", .reverse)]
      let byKeys = try tracks.request.sort(keys).fetch()
      #expect(byKeys.map(\.title) == ["a", "c", "B"])
    }
  }

  @Test func `members ordered by a key are read in pages`() throws {
    try context.performAndWait {
      let tracks = try release().tracks
      let page = try tracks.fetch(sortedBy: \.length, .reverse, limit: 1, offset: 1)
      #expect(page.map(\.title) == ["c"])
      let all = try tracks.fetch(sortedBy: \.length)
      #expect(all.map(\.title) == ["B", "c", "a"])
      let longest = try tracks.first(2, sortedBy: \.length, .reverse)
      #expect(longest.map(\.title) == ["a", "c"])
      let single = try #require(try context.fetch(FetchRequest(Single.self).filter { $0.name == "Original" }).first)
      let covers = try single.covers.fetch(sortedBy: \.name, .reverse, limit: 1, offset: 1)
      #expect(covers.map(\.name) == ["x"])
      let first = try single.covers.first(2, sortedBy: \.name)
      #expect(first.map(\.name) == ["Y", "x"])
    }
  }

  @Test func `the former target of a relationship is that of the saved record`() throws {
    try context.performAndWait {
      let release = try release()
      let track = try #require(release.tracks.first)
      #expect(try track.committedObjectID(for: \.release) == release.objectID)
      track.release = nil
      #expect(try track.committedObjectID(for: \.release) == release.objectID)
      let fresh = try Track(context: context)
      (fresh.title, fresh.release) = ("new", release)
      #expect(try fresh.committedObjectID(for: \.release) == nil)
      try context.save()
      #expect(try track.committedObjectID(for: \.release) == nil)
      #expect(try fresh.committedObjectID(for: \.release) == release.objectID)
    }
  }

  @Test func `a path of a hundred relationships is prefetched, and a longer one is refused`() throws {
    let path = Array(repeating: "tracks.release", count: 50).joined(separator: ".")
    let none = FetchRequest(Release.self).filter { $0.name == "none" }
    try context.performAndWait {
      let found = try context.fetch(none.prefetch(path))
      #expect(found.isEmpty)
      let error = #expect(throws: CoherenceError.self) { try context.fetch(none.prefetch(path + ".tracks")) }
      #expect(error?.code == .invalidFetchRequest)
    }
  }
}
