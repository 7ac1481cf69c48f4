import CoherenceCore
@testable import CoherenceSQL
@testable import CoherenceSQLite
import Foundation
import TestSupport
import Testing

/// The entities, orders, ranges and members in SQLite's statements, without a file.
@Suite struct SelectStatementTests {
  private let model: ManagedObjectModel
  private let planner: QueryPlanner

  init() throws {
    model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int32, optional: true)
        Attribute("weight", .double, optional: true)
        Attribute("price", .decimal, optional: true)
        Relationship("previous", toOne: "Album", inverse: "followers")
        Relationship("followers", toMany: "Album", inverse: "previous")
        Relationship("tracks", toMany: "Track", inverse: "album")
        Relationship("tags", toMany: "Tag", inverse: "albums", ordered: true)
      }
      Entity("Track") {
        Attribute("name", .string, optional: true)
        Attribute("weight", .double, optional: true)
        Attribute("price", .decimal, optional: true)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
      Entity("Tag") {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
      Entity("Item") { Attribute("name", .string, optional: true) }
      Entity("Vinyl", parent: "Item") {
        Attribute("speed", .int32, default: 33)
        Attribute("size", .int32, optional: true)
      }
      Entity("Single", parent: "Vinyl")
      Entity("Digital", parent: "Item", isAbstract: true)
      Entity("File", parent: "Digital")
    }
    planner = QueryPlanner(for: model)
  }

  private func entity(_ name: String) throws -> EntityDescription { try #require(model.entitiesByName[name]) }

  private func albums(
    where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = [], limit: Int? = nil, offset: Int = 0
  ) throws -> StoreQuery {
    StoreQuery(entity: try entity("Album"), predicate: predicate, sortKeys: sortKeys, limit: limit, offset: offset)
  }

  private func text(_ fragment: SQLFragment?) -> String? { fragment?.text(in: SQLiteDialect()) }

  /// The part of a text behind the last of several words.
  private func rest(of text: String?, after words: String) throws -> String? {
    guard let text, let range = text.range(of: words, options: .backwards) else { return nil }
    return String(text[range.upperBound...])
  }

  /// A path over a number of to-one relationships.
  private func path(_ steps: Int, from first: [String] = []) -> PropertyPath {
    PropertyPath(names: first + Array(repeating: "previous", count: steps) + ["title"])
  }

  private let matching: FetchPredicate = .path("title", .matches, .string("a"))
  /// An order that SQLite does not have.
  private let inexactKey = SortKey("tracks.@sum.weight")

  // MARK: Entities

  @Test func `a query names its entities, unless they are all of the hierarchy`() throws {
    func condition(_ name: String, alone: Bool = false) throws -> String? {
      let query = StoreQuery(entity: try entity(name), includesSubentities: !alone)
      let statement = text(try planner.select(query).statement)
      return try rest(of: statement, after: " WHERE ")?.components(separatedBy: " ORDER BY ").first
    }
    #expect(try condition("Item") == nil)
    #expect(try condition("Item", alone: true) == #"("t"."$entity" = ?)"#)
    #expect(try condition("Vinyl") == #"("t"."$entity" IN (?, ?))"#)
    #expect(try condition("Single") == #"("t"."$entity" = ?)"#)
    #expect(try condition("Digital") == #"("t"."$entity" = ?)"#)
    #expect(try condition("Digital", alone: true) == "(0)")
    #expect(try condition("Album") == nil)
  }

  @Test func `records of other entities have no value of an attribute with a default`() throws {
    func condition(_ name: String, _ path: String) throws -> String? {
      let query = StoreQuery(entity: try entity(name), predicate: .path(path, .equal, .int(33)))
      return try rest(of: text(planner.select(query).statement), after: " WHERE ")
    }
    let vinyl = #"CASE WHEN "t"."$entity" IN (?, ?) THEN "t"."speed" END = ?"#
    #expect(try condition("Item", "speed") == #"(\#(vinyl)) ORDER BY "t"."$id""#)
    #expect(try condition("Item", "size") == #"("t"."size" = ?) ORDER BY "t"."$id""#)
    #expect(try condition("Vinyl", "speed")?.hasSuffix(#" AND ("t"."speed" = ?) ORDER BY "t"."$id""#) == true)
    #expect(try condition("Single", "speed")?.hasSuffix(#" AND ("t"."speed" = ?) ORDER BY "t"."$id""#) == true)
  }

  // MARK: Orders and ranges

  @Test func `an order places missing values where a criterion says`() throws {
    func order(_ keys: SortKey...) throws -> String? {
      try rest(of: text(planner.select(albums(by: keys)).statement), after: " ORDER BY ")
    }
    #expect(try order() == #""t"."$id""#)
    #expect(try order(SortKey("year"), SortKey("title")) == #""t"."year", "t"."title", "t"."$id""#)
    #expect(try order(SortKey("year", .reverse)) == #""t"."year" DESC, "t"."$id""#)
    #expect(try order(SortKey("year", missingValues: .first)) == #""t"."year" NULLS FIRST, "t"."$id""#)
    #expect(try order(SortKey("year", .reverse, missingValues: .last)) == #""t"."year" DESC NULLS LAST, "t"."$id""#)
    // A record has its identifier, and a number of members, always.
    #expect(try order(SortKey("self", missingValues: .last)) == #""t"."$id", "t"."$id""#)
    #expect(try order(SortKey("tracks.@count", .reverse, missingValues: .last))?.contains("NULLS") == false)
    #expect(
      try order(SortKey("title", options: .caseInsensitive)) == #"coherence_fold("t"."title", 1), "t"."$id""#)
  }

  @Test func `a range follows an exact order of exact records alone`() throws {
    func range(_ limit: Int?, _ offset: Int) throws -> String? {
      let plan = try planner.select(albums(limit: limit, offset: offset))
      #expect(plan.isExact)
      return try rest(of: text(plan.statement), after: #" ORDER BY "t"."$id""#)
    }
    #expect(try range(nil, 0) == "")
    #expect(try range(5, 0) == " LIMIT 5")
    #expect(try range(5, 2) == " LIMIT 5 OFFSET 2")
    #expect(try range(nil, 2) == " LIMIT 9223372036854775807 OFFSET 2")
    let unordered = try planner.select(albums(by: [SortKey("year"), inexactKey], limit: 5))
    #expect(unordered.isPredicateExact && !unordered.isOrderExact && !unordered.isRangeExact && !unordered.isExact)
    let unfiltered = try planner.select(albums(where: matching, by: [SortKey("year")], limit: 5))
    #expect(!unfiltered.isPredicateExact && unfiltered.isOrderExact && !unfiltered.isRangeExact && !unfiltered.isExact)
    #expect(text(unordered.statement)?.hasSuffix(#" FROM "Album" AS "t""#) == true)
    #expect(text(unfiltered.statement)?.hasSuffix(#" FROM "Album" AS "t" ORDER BY "t"."year", "t"."$id""#) == true)
  }

  @Test func `a query without an order is not sorted, and its limit follows exact records alone`() throws {
    func end(_ query: StoreQuery, isRangeExact: Bool = true) throws -> String? {
      var query = query
      query.isUnordered = true
      let plan = try planner.select(query)
      #expect(plan.isOrderExact && plan.isRangeExact == isRangeExact)
      return try rest(of: text(plan.statement), after: " FROM ")
    }
    #expect(try end(albums()) == #""Album" AS "t""#)
    #expect(try end(albums(limit: 5)) == #""Album" AS "t" LIMIT 5"#)
    #expect(try end(albums(where: matching, limit: 5), isRangeExact: false) == #""Album" AS "t""#)
  }

  @Test func `a number of records in a range is never negative and never above the limit`() throws {
    func count(_ limit: Int?, _ offset: Int, of total: Int) throws -> Int {
      try albums(limit: limit, offset: offset).countInRange(of: total)
    }
    #expect(try count(nil, 0, of: 7) == 7)
    #expect(try count(nil, 2, of: 7) == 5)
    #expect(try count(nil, 9, of: 7) == 0)
    #expect(try count(3, 2, of: 7) == 3)
    #expect(try count(3, 6, of: 7) == 1)
    #expect(try count(0, 0, of: 7) == 0)
  }

  // MARK: Numbers and keys

  @Test func `numbers and keys of records are statements of exact queries alone`() throws {
    let query = try albums(where: .path("year", .equal, .int(5)), by: [SortKey("title")], limit: 3)
    let tables = #" FROM "Album" AS "t" WHERE ("t"."year" = ?)"#
    #expect(try text(planner.count(query)) == "SELECT COUNT(*)\(tables)")
    #expect(
      try text(planner.orderedKeys(query)) == #"SELECT "t"."$id"\#(tables) ORDER BY "t"."title", "t"."$id" LIMIT 3"#)
    #expect(try planner.batchKeys(query) == nil)
    #expect(try planner.batchKeys(albums(offset: 1)) == nil)
    #expect(try text(planner.batchKeys(albums())) == #"SELECT "t"."$id" FROM "Album" AS "t""#)
    #expect(try planner.count(albums(where: matching)) == nil)
    #expect(try planner.batchKeys(albums(where: matching)) == nil)
    #expect(try planner.orderedKeys(albums(where: matching)) == nil)
    #expect(try planner.orderedKeys(albums(by: [inexactKey])) == nil)
    #expect(try text(planner.count(albums(by: [inexactKey]))) == #"SELECT COUNT(*) FROM "Album" AS "t""#)
  }

  @Test func `a query for one record is made for each hierarchy of the store`() throws {
    let queries = try RowQueries(of: planner) { statement, _ in statement.text }
    let query = try queries.query(for: entity("Single"))
    #expect(query.hasPrefix(#"SELECT "t"."$id", "t"."$version", "t"."$entity", "t"."name", "#))
    #expect(query.hasSuffix(#" FROM "Item" AS "t" WHERE "t"."$id" = ?"#))
    let other = try ManagedObjectModel { Entity("Thing") }.entity(named: "Thing")
    let error = #expect(throws: CoherenceError.self) { try queries.query(for: other) }
    #expect(error?.code == .noStore)
  }

  @Test func `the error for a wrong value names its column, beside and without a column of entities`() throws {
    for (name, first) in [("Album", 2), ("Item", 3)] {
      let layout = try planner.rows(of: entity(name)).layout
      for (index, column) in layout.columns.enumerated() {
        let error = layout.wrongValue(at: first + index, as: .string)
        #expect(error.code == .storeCorrupt && error.message.hasPrefix("Column '\(column.name)' of table '\(name)' "))
      }
    }
  }

  // MARK: Members

  private func members(
    _ owner: String, _ name: String, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = []
  ) throws -> MemberQuery {
    let relationship = try #require(try entity(owner).relationship(named: name))
    let query = StoreQuery(entity: relationship.destination, predicate: predicate, sortKeys: sortKeys, limit: 4)
    return MemberQuery(relationship: relationship, owner: 7, query: query)
  }

  @Test func `members come in the order of their list, unless the query has an order`() throws {
    func order(_ query: MemberQuery) throws -> String? {
      let plan = try #require(try planner.members(query))
      #expect(plan.isExact)
      return try rest(of: text(plan.statement), after: " ORDER BY ")
    }
    #expect(try order(members("Album", "tags")) == #""m"."sourcePosition", "t"."$id" LIMIT 4"#)
    #expect(try order(members("Album", "tags", by: [SortKey("name")])) == #""t"."name", "t"."$id" LIMIT 4"#)
    #expect(try order(members("Tag", "albums")) == #""t"."$id" LIMIT 4"#)
    #expect(try order(members("Album", "tracks")) == #""t"."$id" LIMIT 4"#)
  }

  @Test func `members are selected by their owner and by an exact condition`() throws {
    let named: FetchPredicate = .path("name", .equal, .string("a"))
    let owner = #"("t"."name" = ?) AND ("t"."album" = ?)"#
    #expect(
      try text(planner.memberCount(members("Album", "tracks", where: named)))
        == #"SELECT COUNT(*) FROM "Track" AS "t" WHERE \#(owner)"#)
    let tags = try text(planner.memberCount(members("Album", "tags")))
    #expect(tags?.hasSuffix(#" AS "m" ON "m"."target" = "t"."$id" WHERE ("m"."source" = ?)"#) == true)
    let unnamed: FetchPredicate = .path("name", .matches, .string("a"))
    #expect(try planner.memberCount(members("Album", "tracks", where: unnamed)) == nil)
    #expect(try planner.members(members("Album", "tracks", where: unnamed)) == nil)
    #expect(try planner.members(members("Album", "tracks", by: [SortKey(path(0, from: ["album"]))])) != nil)
    #expect(try planner.members(members("Album", "followers", by: [inexactKey])) == nil)
    // One of the joined tables is the table of the links.
    func title(_ steps: Int) -> FetchPredicate { .comparison(.path(path(steps)), .equal, .value(.string("a"))) }
    #expect(try planner.memberCount(members("Tag", "albums", where: title(62))) != nil)
    #expect(try planner.memberCount(members("Tag", "albums", where: title(63))) == nil)
  }

  @Test func `numbers of members are grouped by owner, and one owner needs no groups`() throws {
    let tracks = try #require(try entity("Album").relationship(named: "tracks"))
    let one = try planner.memberCounts(of: tracks, owners: [5]).rendered(by: SQLiteDialect())
    #expect(one.text == #"SELECT ?, COUNT(*) FROM "Track" AS "m" WHERE "m"."album" = ?"#)
    for binding in one.bindings {
      guard case .value(.int(let key), _) = binding else { continue }
      #expect(key == 5)
    }
    #expect(
      try text(planner.memberCounts(of: tracks, owners: [5, 6]))
        == #"SELECT "m"."album", COUNT(*) FROM "Track" AS "m" WHERE "m"."album" IN (?, ?) GROUP BY "m"."album""#)
    let album = try #require(try entity("Track").relationship(named: "album"))
    let error = #expect(throws: CoherenceError.self) { try planner.memberCounts(of: album, owners: [5]) }
    #expect(error?.code == .unsupported && error?.message.contains("'album'") == true)
  }
}
