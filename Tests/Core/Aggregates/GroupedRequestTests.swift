import CoherenceCore
import Foundation
import Testing

/// Grouped requests of declared classes, with the types of their columns.
@Suite struct GroupedRequestTests {
  private typealias Track = DeclaredMusic.Track
  private typealias Release = DeclaredMusic.Release
  private typealias Maxi = DeclaredMusic.Maxi
  private let context: ManagedObjectContext

  init() throws {
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: DeclaredMusic.makeModel()))
    try context.performAndWait {
      for (name, lengths) in [("Abbey", [100, 200, nil]), ("Borders", [300]), ("Cranes", [])] as [(String, [Int?])] {
        let release = try Release(context: context)
        release.name = name
        for (index, length) in lengths.enumerated() {
          let track = try Track(context: context)
          (track.title, track.length, track.release) = ("\(name) \(index)", length, release)
        }
      }
      let single = try Track(context: context)
      (single.title, single.length) = ("Alone", 50)
      let maxi = try Maxi(context: context)
      (maxi.name, maxi.chart, maxi.inches) = ("Dunes", 5, 12)
      try context.save()
    }
  }

  private func rows<each Value: Sendable>(
    _ request: GroupedRequest<Track, repeat each Value>
  ) throws -> [(repeat each Value)] {
    try context.performAndWait { try context.fetchRows(request) }
  }

  @Test func `a grouped request returns tuples of keys and aggregates`() throws {
    let found = try rows(FetchRequest(Track.self).grouped { ($0.release.name, $0.count, $0.length.sum) })
    #expect(found.map(\.0) == [nil, "Abbey", "Borders"])
    #expect(found.map(\.1) == [1, 3, 1])
    #expect(found.map(\.2) == [50, 300, 300])
  }

  @Test func `each of ten columns has the type of its key or aggregate`() throws {
    let request = FetchRequest(Track.self).grouped {
      (
        $0.release.name, $0.release, $0.count, $0.length.count, $0.length.sum, $0.length.average, $0.length.minimum,
        $0.length.maximum, $0.length.countDistinct, $0.title.maximum
      )
    }
    .having { $0.count > 1 && $0.length.sum >= 300 && $0.length.average < 151 && $0.release.name == "Abbey" }
    let found: [(String?, ManagedObjectID?, Int, Int, Int, Double?, Int?, Int?, Int, String?)] = try rows(request)
    let row = try #require(found.first)
    #expect(found.count == 1)
    #expect((row.0, row.2, row.3, row.4) == ("Abbey", 3, 2, 300))
    #expect((row.5, row.6, row.7, row.8, row.9) == (150, 100, 200, 2, "Abbey 2"))
    #expect(row.1?.isTemporaryID == false)
  }

  @Test func `a grouped request with one column returns a list of values`() throws {
    let names: [String?] = try rows(FetchRequest(Track.self).grouped { $0.release.name })
    #expect(names == [nil, "Abbey", "Borders"])
  }

  @Test func `a grouped request filters, orders and limits its rows`() throws {
    let request = FetchRequest(Track.self)
      .filter { $0.length > 60 || $0.length == nil }
      .grouped { ($0.release.name, $0.length.sum) }
      .having { $0.release.name != nil }
      .sort(\.count, .reverse)
      .sort(\.release.name)
    #expect(try rows(request).map(\.0) == ["Abbey", "Borders"])
    #expect(try rows(request.limit(1)).map(\.0) == ["Abbey"])
    #expect(try rows(request.limit(5, offset: 1)).map(\.1) == [300])
    #expect(try rows(request.having { $0.length.minimum > 100 }).map(\.0) == ["Borders"])
  }

  @Test func `groups are filtered by the identifier of a target, and by its absence`() throws {
    let request = FetchRequest(Track.self).grouped { ($0.release.name, $0.release) }
    let found = try rows(request)
    let abbey = try #require(found.first { $0.0 == "Abbey" }?.1)
    #expect(try rows(request.having { $0.release == abbey }).map(\.0) == ["Abbey"])
    #expect(try rows(request.having { $0.release != abbey }).map(\.0) == [nil, "Borders"])
    #expect(try rows(request.having { $0.release == nil }).map(\.0) == [nil])
    #expect(try rows(request.having { $0.release != nil }).map(\.0) == ["Abbey", "Borders"])
  }

  @Test func `a context computes single aggregates over the records of a request`() throws {
    let tracks = FetchRequest(Track.self)
    let missing = tracks.filter { $0.title == "none" }
    try context.performAndWait { () throws in
      #expect(try context.sum(of: \.length, for: tracks) == 650)
      #expect(try context.average(of: \.length, for: tracks) == 162.5)
      #expect(try context.minimum(of: \.length, for: tracks) == 50)
      #expect(try context.maximum(of: \.title, for: tracks) == "Borders 0")
      #expect(try context.maximum(of: \.release.name, for: tracks) == "Borders")
      #expect(try context.sum(of: \.length, for: missing) == 0)
      #expect(try context.average(of: \.length, for: missing) == nil)
      #expect(try context.minimum(of: \.title, for: missing) == nil)
      #expect(try context.distinctValues(of: \.release.name, for: tracks) == [nil, "Abbey", "Borders"])
      #expect(try context.count(for: tracks, groupedBy: \.release.name) == [nil: 1, "Abbey": 3, "Borders": 1])
      #expect(try context.sum(of: \.length, for: tracks.sort(\.title).limit(2)) == 300)
    }
  }

  @Test func `records are found and ordered by aggregates of members`() throws {
    func names(_ request: FetchRequest<Release>) throws -> [String] {
      try context.performAndWait { try context.fetch(request).map(\.name) }
    }
    let releases = FetchRequest(Release.self)
    #expect(try names(releases.sort(\.tracks.count, .reverse).sort(\.name)) == ["Abbey", "Borders", "Cranes", "Dunes"])
    #expect(
      try names(releases.sort(.reverse) { $0.tracks.minimum(\.length) }.sort(\.name))
        == ["Borders", "Abbey", "Cranes", "Dunes"])
    #expect(try names(releases.filter { $0.tracks.sum(\.length) == 300 }.sort(\.name)) == ["Abbey", "Borders"])
    #expect(try names(releases.filter { $0.tracks.average(\.length) < 200 }) == ["Abbey"])
    #expect(try names(releases.filter { $0.tracks.countDistinct(\.length) == 2 }) == ["Abbey"])
    #expect(try names(releases.filter { $0.tracks.maximum(\.title) == "Borders 0" }) == ["Borders"])
  }

  @Test func `the own properties of a subclass are keys and values`() throws {
    let request = FetchRequest(Maxi.self).grouped { ($0.inches, $0.chart.sum, $0.name.minimum) }
    let found = try context.performAndWait { try context.fetchRows(request) }
    #expect(found.map(\.0) == [12])
    #expect(found.map(\.1) == [5])
    #expect(found.map(\.2) == ["Dunes"])
  }

  @Test func `the untyped request of a grouped request has the expressions of its columns`() {
    let request = FetchRequest(Track.self)
      .grouped { ($0.release.name, $0.count, $0.length.average) }
      .having { $0.length.sum.isBetween(1, 2) }
      .request
    #expect(request.propertiesToGroupBy == ["release.name"])
    #expect(request.propertiesToFetch.map(\.expression) == ["release.name", "@count", "@avg.length"])
    #expect(request.havingPredicate?.description == "@sum.length BETWEEN {1, 2}")
  }
}
