import CoherenceCore
import TestSupport
import Foundation
import Testing

/// The statements of aggregates in the logs of SQL stores.
@Suite struct AggregateStatementTests {
  /// A store of forty albums, two of each title, with five tracks each. The log and the context are fresh.
  private struct Library {
    private let stack: LoggedStore
    let context: ManagedObjectContext

    var log: MessageLog { stack.log }

    init(_ backend: Backend) throws {
      let model = try ManagedObjectModel {
        Entity("Album") {
          Attribute("title", .string)
          Relationship("tracks", toMany: "Track", inverse: "album")
        }
        Entity("Track") {
          Attribute("length", .int64)
          Attribute("price", .decimal, optional: true)
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
      }
      stack = try LoggedStore(backend, model)
      try stack.write { context in
        for number in 0..<40 {
          let album = try context.insertNewObject(forEntityName: "Album")
          try album.setValue("album \(number % 20)", for: "title")
          for length in 1...5 {
            let track = try context.insertNewObject(forEntityName: "Track")
            try track.setValue(length * number, for: "length")
            try track.setObject(album, for: "album")
          }
        }
      }
      let context = stack.context()
      self.context = context
      // A pool opens its reading connection here, with statements of its own.
      _ = try context.performAndWait {
        try context.count(for: FetchRequest<ManagedObject>(entityName: "Album"))
      }
      stack.log.removeAll()
    }
  }

  private func tracks(_ columns: [ResultColumn]) -> AggregateRequest<ManagedObject> {
    AggregateRequest(
      FetchRequest(entityName: "Track"), propertiesToGroupBy: ["album.title"], propertiesToFetch: columns)
  }

  @Test(arguments: Backend.availableSQL)
  func `groups with a condition, an order and a range are one statement that returns no records`(
    backend: Backend
  ) throws {
    let library = try Library(backend)
    var request = tracks(["album.title", .count, .sum(of: "length"), .average(of: "length")])
    request.havingPredicate = try FetchPredicate(format: "@count > 3 AND @avg.length > 50")
    request.sortKeys = [SortKey("@sum.length", .reverse), SortKey("@avg.length")]
    request.fetchLimit = 3
    let (rows, made) = try library.context.performAndWait { context in
      (try context.fetchDictionaries(request), context.registeredObjects.count)
    }
    #expect(rows.map { $0["album.title"] } == ["album 19", "album 18", "album 17"].map(AttributeValue.string))
    #expect(made == 0)
    let statement = try #require(library.log.reads.first)
    #expect(library.log.reads.count == 1)
    for clause in [" GROUP BY 1 ", " HAVING ", " ORDER BY 3 DESC", " LIMIT 3"] {
      #expect(statement.contains(clause), "\(statement)")
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `unsaved records are combined with the groups of one statement`(backend: Backend) throws {
    let library = try Library(backend)
    let rows = try library.context.performAndWait { context in
      let track = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Track").limit(1)).first)
      try track.setValue(1_000_000, for: "length")
      library.log.removeAll()
      return try context.fetchDictionaries(tracks([.maximum(of: "length"), .count]))
    }
    #expect(rows.first == ["@max.length": .int(1_000_000), "@count": .int(10)])
    let reads = library.log.reads
    #expect(reads.count { $0.contains("GROUP BY") } == 1)
    // The title of the changed track's album is one more read.
    #expect(reads.count <= 2, "\(reads)")
  }

  @Test(arguments: Backend.availableSQL)
  func `an order by a sum of members is the store's`(backend: Backend) throws {
    let library = try Library(backend)
    let request = FetchRequest<ManagedObject>(entityName: "Album").sort("tracks.@sum.length", .reverse).limit(2)
    let titles = try library.context.performAndWait { context in
      try context.fetch(request).map { try $0.value(for: "title", as: String.self) }
    }
    #expect(titles == ["album 19", "album 18"])
    #expect(library.log.reads.first?.contains(" LIMIT 2") == true, "\(library.log.reads)")
  }

  @Test(arguments: Backend.availableSQL)
  func `a condition on the records of groups is a part of their statement`(backend: Backend) throws {
    let library = try Library(backend)
    var request = tracks(["album.title", .minimum(of: "length"), .maximum(of: "length"), .countDistinct(of: "length")])
    request.records.predicate = try FetchPredicate(format: "length > 10 AND album.title BEGINSWITH 'album 1'")
    request.havingPredicate = try FetchPredicate(format: "@max.length >= 100 OR @distinctCount.length == 1")
    let rows = try library.context.performAndWait { context in try context.fetchDictionaries(request) }
    #expect(!rows.isEmpty && rows.allSatisfy { $0["album.title"] != .null })
    let reads = library.log.reads
    #expect(reads.count == 1, "\(reads)")
    #expect(reads.first?.contains(" HAVING ") == true, "\(reads)")
  }
}
