import CoherenceCore
import CoherencePostgreSQL
import Foundation
import TestSupport
import Testing

/// The statements of aggregates in the log of a PostgreSQL store.
@Suite(.needsServer) struct AggregateStatementTests {
  private let schema: TemporarySchema
  private let log = MessageLog()
  private let context: ManagedObjectContext

  init() throws {
    schema = try TemporarySchema()
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
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url, options: [PostgreSQLOption.schema: .string(schema.name)])
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<40 {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setValue("album \(number % 20)", for: "title")
        for length in 1...5 {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue(length * number, for: "length")
          try track.setObject(album, for: "album")
        }
      }
      try context.save()
      context.reset()
      // The pool opens its reading connection here, with statements of its own.
      _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Album"))
    }
    log.removeAll()
  }

  private func tracks(_ columns: [ResultColumn]) -> AggregateRequest<ManagedObject> {
    AggregateRequest(
      FetchRequest(entityName: "Track"), propertiesToGroupBy: ["album.title"], propertiesToFetch: columns)
  }

  @Test func `groups with a condition, an order and a range are one statement that returns no records`() throws {
    var request = tracks(["album.title", .count, .sum(of: "length"), .average(of: "length")])
    request.havingPredicate = try FetchPredicate(format: "@count > 3 AND @avg.length > 50")
    request.sortKeys = [SortKey("@sum.length", .reverse), SortKey("@avg.length")]
    request.fetchLimit = 3
    let (rows, made) = try context.performAndWait {
      (try context.fetchDictionaries(request), context.registeredObjects.count)
    }
    #expect(rows.map { $0["album.title"] } == ["album 19", "album 18", "album 17"].map(AttributeValue.string))
    #expect(made == 0)
    let statement = try #require(log.reads.first)
    #expect(log.reads.count == 1)
    for clause in [" GROUP BY 1 ", " HAVING ", " ORDER BY 3 DESC", " LIMIT 3"] {
      #expect(statement.contains(clause), "\(statement)")
    }
  }

  @Test func `unsaved records are combined with the groups of one statement`() throws {
    let rows = try context.performAndWait {
      let track = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Track").limit(1)).first)
      try track.setValue(1_000_000, for: "length")
      log.removeAll()
      return try context.fetchDictionaries(tracks([.maximum(of: "length"), .count]))
    }
    #expect(rows.first == ["@max.length": .int(1_000_000), "@count": .int(10)])
    #expect(log.reads.count { $0.contains("GROUP BY") } == 1)
    // The title of the changed track's album is one more read.
    #expect(log.reads.count <= 2, "\(log.reads)")
  }

  @Test func `an order by a sum of members is the store's`() throws {
    let request = FetchRequest<ManagedObject>(entityName: "Album").sort("tracks.@sum.length", .reverse).limit(2)
    let titles = try context.performAndWait {
      try context.fetch(request).map { try $0.value(for: "title", as: String.self) }
    }
    #expect(titles == ["album 19", "album 18"])
    #expect(log.reads.first?.contains(" LIMIT 2") == true, "\(log.reads)")
  }

  @Test func `a condition on the records of groups is a part of their statement`() throws {
    var request = tracks(["album.title", .minimum(of: "length"), .maximum(of: "length"), .countDistinct(of: "length")])
    request.records.predicate = try FetchPredicate(format: "length > 10 AND album.title BEGINSWITH 'album 1'")
    request.havingPredicate = try FetchPredicate(format: "@max.length >= 100 OR @distinctCount.length == 1")
    let rows = try context.performAndWait { try context.fetchDictionaries(request) }
    #expect(!rows.isEmpty && rows.allSatisfy { $0["album.title"] != .null })
    #expect(log.reads.count == 1, "\(log.reads)")
    #expect(log.reads.first?.contains(" HAVING ") == true, "\(log.reads)")
  }
}
