import Foundation
import Testing

@testable import CoherenceCore

/// The options of requests: each function hands every option on to the request.
@Suite("Options of requests")
struct RequestOptionTests {
  private typealias Album = QueryLibrary.Album
  private typealias Track = QueryLibrary.Track

  @Test func `each kind of order has its direction, its options and the place of missing values`() throws {
    let request = try FetchRequest(Album.self)
      .sort("subtitle", .reverse, options: .caseInsensitive, missingValues: .last)
      .sort(\.title, .reverse, options: .diacriticInsensitive, missingValues: .first)
      .sort(\.artist.name, .reverse, options: .caseInsensitive, missingValues: .last)
      .sort(.reverse, missingValues: .last) { $0.tracks.maximum(\.length) }
      .sort([SortDescriptor(\.rating), SortDescriptor(\.price, order: .reverse)], options: .caseInsensitive)
    #expect(
      request.sortKeys == [
        SortKey("subtitle", .reverse, options: .caseInsensitive, missingValues: .last),
        SortKey("title", .reverse, options: .diacriticInsensitive, missingValues: .first),
        SortKey("artist.name", .reverse, options: .caseInsensitive, missingValues: .last),
        SortKey("tracks.@max.length", .reverse, missingValues: .last),
        SortKey("rating", options: .caseInsensitive), SortKey("price", .reverse, options: .caseInsensitive),
      ])
  }

  @Test func `a criterion of order is ascending, without options, and has missing values first by default`() {
    let key = SortKey("title")
    #expect(key.isAscending && key.options.isEmpty && key.missingValues == .smallest)
    #expect(!SortKey("title", .reverse).isAscending)
    #expect(FetchRequest(Album.self).sort("title").sortKeys == [key])
    #expect(FetchRequest(Album.self).sort(\.title).sort(\.artist.name).sortKeys == [key, SortKey("artist.name")])
  }

  @Test func `a grouped request hands the options of its order and its range on`() {
    let grouped = FetchRequest(Album.self).grouped { ($0.title, $0.rating.sum) }
      .sort(\.title, .reverse, options: .caseInsensitive, missingValues: .last)
      .limit(3, offset: 2)
      .having { $0.rating.sum > 1 }
      .having { $0.rating.sum < 9 }
    let request = grouped.request
    #expect(request.sortKeys == [SortKey("title", .reverse, options: .caseInsensitive, missingValues: .last)])
    #expect(request.fetchLimit == 3 && request.fetchOffset == 2)
    #expect(request.havingPredicate?.description == "@sum.rating > 1.0 AND @sum.rating < 9.0")
  }

  @Test func `a request has no range, no order and no batches by default, and hands its range on`() {
    let plain = FetchRequest(Album.self)
    #expect(plain.fetchLimit == nil && plain.fetchOffset == 0 && plain.fetchBatchSize == 0 && plain.sortKeys.isEmpty)
    #expect(plain.includesSubentities && plain.includesPendingChanges && !plain.returnsObjectsAsFaults)
    let changed = plain.limit(5, offset: 7).batchSize(9)
    #expect(changed.fetchLimit == 5 && changed.fetchOffset == 7 && changed.fetchBatchSize == 9)
    #expect(plain.limit(5).fetchOffset == 0)
  }

  @Test func `a request for members hands the options of its order and its range on`() throws {
    let album = Album(entity: try QueryLibrary().entity("Album"), insertInto: nil)
    let request = album.tracks.request
      .sort("title", .reverse, options: .caseInsensitive, missingValues: .last)
      .sort(\.title, .reverse, options: .diacriticInsensitive, missingValues: .first)
      .sort(\.album.title, .reverse, options: .caseInsensitive, missingValues: .last)
      .sort([SortKey("length")])
      .limit(4, offset: 3)
      .request
    #expect(request.entityName == "Track")
    #expect(
      request.sortKeys == [
        SortKey("title", .reverse, options: .caseInsensitive, missingValues: .last),
        SortKey("title", .reverse, options: .diacriticInsensitive, missingValues: .first),
        SortKey("album.title", .reverse, options: .caseInsensitive, missingValues: .last), SortKey("length"),
      ])
    #expect(request.fetchLimit == 4 && request.fetchOffset == 3)
    #expect(album.tracks.request.limit(nil).request.fetchLimit == nil)
  }

  @Test func `a page of members begins at its offset, in each kind of collection`() throws {
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: DeclaredMusic.makeModel()))
    try context.performAndWait {
      let release = try DeclaredMusic.Release(context: context)
      release.name = "release"
      for title in ["c", "a", "d", "b"] {
        let track = try DeclaredMusic.Track(context: context)
        (track.title, track.release) = (title, release)
      }
      let cover = try DeclaredMusic.Single(context: context)
      (cover.name, cover.chart) = ("cover", 1)
      for name in ["z", "x", "y"] {
        let single = try DeclaredMusic.Single(context: context)
        (single.name, single.chart, single.cover) = (name, 1, cover)
      }
      try context.save()
      let byTitle = [SortKey("title")]
      #expect(try release.tracks.fetch(limit: 2, offset: 1).map(\.title) == ["a", "d"])
      #expect(try release.tracks.fetch(sortedBy: byTitle, limit: 2, offset: 1).map(\.title) == ["b", "c"])
      #expect(try release.tracks.first(3, sortedBy: byTitle).map(\.title) == ["a", "b", "c"])
      #expect(try release.tracks.first(2).map(\.title) == ["c", "a"])
      let byName = [SortKey("name")]
      #expect(try cover.covers.fetch(sortedBy: byName, limit: 1, offset: 1).map(\.name) == ["y"])
      #expect(try cover.covers.first(2, sortedBy: byName).map(\.name) == ["x", "y"])
      #expect(try cover.covers.request.sort(byName).limit(2, offset: 1).first()?.name == "y")
      #expect(try cover.covers.request.limit(0).first() == nil)
    }
  }

  @Test func `the later of two settings of an attribute in a batch update replaces the earlier`() {
    let value = BatchUpdateRequest(
      Album.self,
      changes: {
        $0.set(\.rating, $0.rating + 1)
        $0.set(\.rating, to: 3)
      })
    #expect(value.values == ["rating": .double(3)] && value.expressions.isEmpty)
    let expression = BatchUpdateRequest(
      Album.self,
      changes: {
        $0.set(\.rating, to: 3)
        $0.set(\.rating, $0.rating + 1)
      })
    #expect(expression.values.isEmpty)
    #expect(expression.expressions == ["rating": .sum(.attribute("rating"), .value(.double(1)))])
  }

  @Test func `a missing aggregate is zero, no value or not-a-number, after its kind`() {
    let album = GroupScope<Album>()
    let (rating, price, year) = (album.rating.sum, album.price.sum, album.year.sum)
    // The sum of infinities of both signs is missing.
    #expect(rating.columnValue(from: .null).isNaN && rating.columnValue(from: .double(2)) == 2)
    #expect(price.columnValue(from: .null) == 0 && year.columnValue(from: .null) == 0)
    #expect(album.rating.average.columnValue(from: .null) == nil && album.count.columnValue(from: .null) == 0)
    #expect(album.year.minimum.columnValue(from: .null) == nil)
    #expect(album.title.isGroupKey && album.artist.isGroupKey && !rating.isGroupKey)
  }

  @Test func `columns of batch rows without a value are left out of their rows`() {
    let rows: [[String: AttributeValue]] = [["a": .int(1)], [:], ["b": .int(2), "a": .null]]
    let request = BatchInsertRequest(entityName: "Album", rows: rows)
    #expect(request.names == ["a", "b"])
    #expect(request.rows.map(\.count) == [1, 0, 2] && request.count == 3)
    #expect(request.rows[0] == [.int(1)] && request.rows[2] == [.null, .int(2)])
  }
}
