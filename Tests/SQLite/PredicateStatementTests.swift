import CoherenceCore
@testable import CoherenceSQL
@testable import CoherenceSQLite
import Foundation
import TestSupport
import Testing

/// The conditions of SQLite's statements, without a file.
@Suite struct PredicateStatementTests {
  private let model: ManagedObjectModel
  private let planner: QueryPlanner

  init() throws {
    model = try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string, optional: true)
        Attribute("code", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int32, optional: true)
        Attribute("first", .int16, optional: true)
        Attribute("weight", .double, optional: true)
        Attribute("price", .decimal, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("previous", toOne: "Album", inverse: "followers")
        Relationship("followers", toMany: "Album", inverse: "previous")
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("plays", .int64, optional: true)
        Attribute("price", .decimal, optional: true)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    planner = QueryPlanner(for: model)
  }

  private func statement(_ predicate: FetchPredicate) throws -> SQLStatement? {
    let entity = try #require(model.entitiesByName["Album"])
    let plan = try planner.select(StoreQuery(entity: entity, predicate: predicate))
    return plan.isPredicateExact ? plan.statement.rendered(by: SQLiteDialect()) : nil
  }

  /// The condition of the statement for one predicate, without its parentheses; `nil` if Core evaluates the predicate.
  private func condition(_ predicate: FetchPredicate) throws -> String? {
    guard let text = try statement(predicate)?.text else { return nil }
    let start = try #require(text.range(of: " WHERE ("))
    let end = try #require(text.range(of: ") ORDER BY ", options: .backwards))
    return String(text[start.upperBound..<end.lowerBound])
  }

  /// The tables of the statement for one predicate.
  private func tables(_ predicate: FetchPredicate) throws -> String? {
    guard let text = try statement(predicate)?.text else { return nil }
    let start = try #require(text.range(of: " FROM "))
    let end = try #require(text.range(of: " WHERE "))
    return String(text[start.upperBound..<end.lowerBound])
  }

  /// The texts that the statement for one predicate binds.
  private func texts(_ predicate: FetchPredicate) throws -> [String]? {
    try statement(predicate)?.bindings.compactMap { binding in
      if case .value(.string(let text), _) = binding { text } else { nil }
    }
  }

  private func expect(_ cases: [(FetchPredicate, String?)], sourceLocation: SourceLocation = #_sourceLocation) throws {
    for (predicate, text) in cases {
      #expect(try condition(predicate) == text, "\(predicate)", sourceLocation: sourceLocation)
    }
  }

  private func id(_ entity: String, in store: String = "s") throws -> AttributeValue {
    let spaces = IDSpaces(store: StoreIdentifier(store), model: model)
    let description = try #require(model.entitiesByName[entity])
    return .reference(ManagedObjectID(space: spaces[description], key: 7))
  }

  private let year: FetchExpression = .path(PropertyPath("year"))
  private let first: FetchExpression = .path(PropertyPath("first"))
  private let title: FetchExpression = .path(PropertyPath("title"))

  // MARK: Missing values

  @Test func `under NOT, the null result of a condition for a missing value counts as false`() throws {
    try expect([
      (.path("year", .equal, .int(5)), #""t"."year" = ?"#),
      (.not(.path("year", .equal, .int(5))), #"NOT (COALESCE("t"."year" = ?, 0))"#),
      (.not(.path("year", .less, .int(5))), #"NOT (COALESCE("t"."year" < ?, 0))"#),
      (.not(.comparison(year, .less, first)), #"NOT (COALESCE("t"."year" < "t"."first", 0))"#),
      (.not(.path("year", .less, .double(5.5))), #"NOT (COALESCE("t"."year" <= ?, 0))"#),
      (.not(.membership(year, in: [.int(5)])), #"NOT (COALESCE("t"."year" IN (?), 0))"#),
      (.not(.path("title", .beginsWith, .string("\u{10FFFF}"))), #"NOT (COALESCE(("t"."title" >= ?), 0))"#),
      (.not(.path("title", .endsWith, .string("ab"))), #"NOT (COALESCE(substr("t"."title", -2) = ?, 0))"#),
      (.not(.path("title", .contains, .string("ab"))), #"NOT (COALESCE(instr("t"."title", ?) > 0, 0))"#),
      (.not(.path("title", .like, .string("ab"))), #"NOT (COALESCE("t"."title" GLOB ?, 0))"#),
      (.not(.path("artist.self", .equal, id("Artist"))), #"NOT (COALESCE("t1"."$id" = ?, 0))"#),
    ])
  }

  @Test func `under NOT, a condition without null results stays unchanged`() throws {
    try expect([
      (.not(.path("year", .notEqual, .int(5))), #"NOT ("t"."year" IS NOT ?)"#),
      (.not(.path("year", .equal, .null)), #"NOT ("t"."year" IS NULL)"#),
      (.not(.path("year", .notEqual, .null)), #"NOT ("t"."year" IS NOT NULL)"#),
      (.not(.path("year", .less, .null)), "NOT (0)"),
      (.not(.path("self", .equal, id("Album"))), #"NOT ("t"."$id" = ?)"#),
      (.not(.comparison(year, .equal, first)), #"NOT ("t"."year" IS "t"."first")"#),
      (.not(.comparison(year, .notEqual, first)), #"NOT ("t"."year" IS NOT "t"."first")"#),
      (.not(.path("year", .less, .double(1e300))), #"NOT ("t"."year" IS NOT NULL)"#),
      (.not(.path("year", .greater, .double(1e300))), "NOT (0)"),
      (.not(.path("year", .equal, .double(5.5))), "NOT (0)"),
      (.not(.path("year", .notEqual, .double(5.5))), "NOT (1)"),
      (.not(.path("title", .beginsWith, .string(""))), #"NOT ("t"."title" IS NOT NULL)"#),
      (.not(.path("title", .endsWith, .string(""))), #"NOT ("t"."title" IS NOT NULL)"#),
    ])
    try expect([
      (.not(.membership(year, in: [.int(5), .null])), #"NOT (("t"."year" IS NULL OR "t"."year" IN (?)))"#),
      (.not(.membership(year, in: [.null])), #"NOT ("t"."year" IS NULL)"#),
      (.not(.membership(year, in: [])), "NOT (0)"),
      (.not(.constant(true)), "NOT (1)"),
      (.not(.constant(false)), "NOT (0)"),
      (
        .not(.comparison(.count(PropertyPath("tracks")), .less, .value(.int(1)))),
        #"NOT ((SELECT COUNT(*) FROM "Track" AS "t_1" WHERE "t_1"."album" = "t"."$id") < ?)"#
      ),
    ])
  }

  @Test func `the parts of a condition under NOT are conditions under NOT too`() throws {
    let (low, high): (FetchPredicate, FetchPredicate) = (
      .path("year", .less, .int(5)), .path("first", .greater, .int(2))
    )
    try expect([
      (.or([low]), #""t"."year" < ?"#),
      (.or([low, high]), #"("t"."year" < ?) OR ("t"."first" > ?)"#),
      (.not(.or([low])), #"NOT (COALESCE("t"."year" < ?, 0))"#),
      (.not(.and([low, high])), #"NOT ((COALESCE("t"."year" < ?, 0)) AND (COALESCE("t"."first" > ?, 0)))"#),
      (
        .not(.between(year, .value(.int(1)), .value(.int(2)))),
        #"NOT ((COALESCE("t"."year" >= ?, 0)) AND (COALESCE("t"."year" <= ?, 0)))"#
      ),
      (.not(.and([])), "NOT (1)"),
      (.not(.or([])), "NOT (0)"),
    ])
  }

  // MARK: Sides

  @Test func `a constant on the left exchanges the sides, and two constants are left to Core`() throws {
    let five: FetchExpression = .value(.int(5))
    try expect([
      (.comparison(five, .less, year), #""t"."year" > ?"#),
      (.comparison(five, .lessOrEqual, year), #""t"."year" >= ?"#),
      (.comparison(five, .greater, year), #""t"."year" < ?"#),
      (.comparison(five, .greaterOrEqual, year), #""t"."year" <= ?"#),
      (.comparison(.value(.string("a")), .contains, title), nil),
      (.comparison(five, .equal, five), nil),
      (.comparison(year, .equal, .variable("five")), nil),
      (.list(year, .membership, variable: "list"), nil),
      (.membership(five, in: [.int(5)]), nil),
    ])
  }

  @Test func `operands of types that SQLite compares otherwise are left to Core`() throws {
    try expect([
      (.comparison(year, .less, .path(PropertyPath("weight"))), nil),
      (.comparison(title, .contains, title), nil),
      (.path("title", .equal, .string("a\0b")), nil),
      (.path("weight", .equal, .double(.nan)), nil),
      (.path("price", .equal, .decimal(.nan)), nil),
      (.path("year", .less, .double(.nan)), nil),
      (.path("year", .less, .double(5)), nil),
      (.path("year", .less, .decimal(5)), nil),
      (.path("year", .equal, .string("5")), nil),
    ])
  }

  @Test func `references of one hierarchy are compared for equality alone`() throws {
    let previous: FetchExpression = .path(PropertyPath("previous"))
    let own: FetchExpression = .path(PropertyPath.own)
    try expect([
      (.comparison(previous, .equal, own), #""t"."previous" IS "t"."$id""#),
      (.comparison(previous, .notEqual, own), #""t"."previous" IS NOT "t"."$id""#),
      (.comparison(previous, .less, own), nil),
      (.comparison(.path(PropertyPath("artist")), .equal, own), nil),
      (.path("artist", .equal, id("Artist")), #""t"."artist" = ?"#),
      (.path("artist", .less, id("Artist")), nil),
      (.path("artist", .equal, id("Artist", in: "other")), "0"),
      (.path("artist", .notEqual, id("Artist", in: "other")), "1"),
      (.path("artist", .less, id("Artist", in: "other")), nil),
      (
        .membership(.path(PropertyPath("artist")), in: [id("Artist", in: "other"), id("Artist")]),
        #""t"."artist" IN (?)"#
      ),
    ])
  }

  // MARK: Texts

  @Test func `texts are folded by the options, and other values are not`() throws {
    let folded = #"coherence_fold("t"."title", 1)"#
    try expect([
      (.comparison(title, .equal, .value(.string("B")), .caseInsensitive), "\(folded) = ?"),
      (.comparison(title, .less, .value(.string("B")), .caseInsensitive), "\(folded) < ?"),
      (.comparison(title, .equal, title, .caseInsensitive), "\(folded) IS \(folded)"),
      (.membership(title, in: [.string("B")], .caseInsensitive), "\(folded) IN (?)"),
      (.comparison(title, .matches, .value(.string("B")), .caseInsensitive), nil),
      (.comparison(year, .equal, .value(.int(5)), .caseInsensitive), #""t"."year" = ?"#),
      (.comparison(year, .equal, first, .caseInsensitive), #""t"."year" IS "t"."first""#),
      (.membership(year, in: [.int(5)], .caseInsensitive), #""t"."year" IN (?)"#),
    ])
    #expect(try texts(.comparison(title, .equal, .value(.string("B")), .caseInsensitive)) == ["b"])
    #expect(try texts(.membership(title, in: [.string("B")], .caseInsensitive)) == ["b"])
    #expect(try texts(.membership(title, in: [.string("B"), .string("c")])) == ["B", "c"])
  }

  @Test func `a prefix is a range that ends with the least text behind all texts with the prefix`() throws {
    func range(_ prefix: String) throws -> [String]? { try texts(.path("title", .beginsWith, .string(prefix))) }
    #expect(try range("ab") == ["ab", "ac"])
    #expect(try range("a\u{D7FF}") == ["a\u{D7FF}", "a\u{E000}"])
    #expect(try range("a\u{10FFFF}") == ["a\u{10FFFF}", "b"])
    #expect(try range("\u{10FFFF}\u{10FFFF}") == ["\u{10FFFF}\u{10FFFF}"])
    try expect([
      (.path("title", .beginsWith, .string("a")), #"("t"."title" >= ? AND "t"."title" < ?)"#),
      (.path("title", .contains, .string("")), #""t"."title" IS NOT NULL"#),
    ])
  }

  // MARK: Sums and calculations

  @Test func `a sum is compared with numbers that it may reach`() throws {
    let sum: FetchExpression = .path(PropertyPath("tracks.@sum.plays"))
    let huge: AttributeValue = .double(1e300)
    let inexact: [FetchPredicate] = [
      .comparison(sum, .less, .value(huge)), .membership(sum, in: [.int(1), huge]),
    ]
    for predicate in inexact { #expect(try condition(predicate) == nil, "\(predicate)") }
    let exact: [FetchPredicate] = [
      .comparison(sum, .less, .value(.double(2.5))), .membership(sum, in: [.int(1), .double(2.5)]),
      .path("tracks.@max.plays", .less, huge), .membership(.path(PropertyPath("tracks.@max.plays")), in: [huge]),
      .comparison(.count(PropertyPath("tracks")), .less, .value(huge)),
    ]
    for predicate in exact { #expect(try condition(predicate) != nil, "\(predicate)") }
  }

  @Test func `a sum of integers out of range is missing in a calculation, and a sum of decimals has none`() throws {
    func calculated(_ operand: FetchExpression) throws -> String? {
      try condition(.comparison(.arithmetic(.add, operand, .value(.int(1))), .less, .value(.int(5))))
    }
    let plain = try #require(try calculated(year))
    #expect(plain.components(separatedBy: "coherence_arithmetic(").count == 2)
    let sum = try #require(try calculated(.path(PropertyPath("tracks.@sum.plays"))))
    #expect(sum.components(separatedBy: "coherence_arithmetic(").count == 3)
    #expect(try calculated(.path(PropertyPath("tracks.@sum.price"))) == nil)
    #expect(try calculated(title) == nil)
    #expect(try calculated(.value(.string("a"))) == nil)
  }

  // MARK: Depth

  @Test func `SQLite evaluates forty nested negations, and Core evaluates more`() throws {
    let innermost: FetchPredicate = .path("year", .equal, .int(5))
    func nested(_ levels: Int) -> FetchPredicate { (0..<levels).reduce(innermost) { inner, _ in .not(inner) } }
    #expect(try condition(nested(40)) != nil)
    #expect(try condition(nested(41)) == nil)
  }

  @Test func `SQLite evaluates twenty-six nested disjunctions, and a long one counts twice`() throws {
    func nested(_ levels: Int, around innermost: FetchPredicate) -> FetchPredicate {
      (0..<levels).reduce(innermost) { inner, level in .or([.path("first", .equal, .int(Int64(level))), inner]) }
    }
    let innermost: FetchPredicate = .path("year", .equal, .int(5))
    #expect(try condition(nested(26, around: innermost)) != nil)
    #expect(try condition(nested(27, around: innermost)) == nil)
    let parts: [FetchPredicate] = (0..<33 as Range<Int64>).map { .path("year", .equal, .int($0)) }
    #expect(try condition(nested(24, around: .or(parts))) != nil)
    #expect(try condition(nested(25, around: .or(parts))) == nil)
    #expect(try condition(nested(25, around: .or(Array(parts.dropLast())))) != nil)
  }

  @Test func `SQLite evaluates ten nested calculations and six nested conditions on members`() throws {
    func calculation(_ levels: Int) -> FetchPredicate {
      let sum = (0..<levels).reduce(year) { inner, _ in .arithmetic(.add, inner, .value(.int(1))) }
      return .comparison(sum, .less, .value(.int(5)))
    }
    #expect(try condition(calculation(10)) != nil)
    #expect(try condition(calculation(11)) == nil)
    let innermost: FetchPredicate = .path("year", .equal, .int(5))
    func members(_ levels: Int) -> FetchPredicate {
      (0..<levels).reduce(innermost) { inner, _ in
        .quantified(.any, PropertyPath("followers"), inner)
      }
    }
    #expect(try condition(members(6)) != nil)
    #expect(try condition(members(7)) == nil)
  }

  // MARK: Values

  @Test func `a statement has as many values as SQLite prepares, and Core evaluates the conditions behind them`() throws
  {
    let entity = try #require(model.entitiesByName["Album"])
    func residuals(_ predicate: FetchPredicate) throws -> [FetchPredicate] {
      try planner.scopedFilter(of: StoreQuery(entity: entity, predicate: predicate)).filter.residuals
    }
    func list(_ count: Int64) -> FetchPredicate { .membership(year, in: (0..<count).map(AttributeValue.int)) }
    func comparisons(_ count: Int64) -> FetchPredicate { .or((0..<count).map { .path("year", .less, .int($0)) }) }
    // The entity takes one value.
    #expect(try residuals(list(31_999)) == [])
    #expect(try residuals(list(32_000)) == [list(32_000)])
    #expect(try residuals(.and([list(20_000), list(20_001), list(11_999)])) == [list(20_001)])
    #expect(try residuals(comparisons(4_000)) == [])
    #expect(try residuals(comparisons(4_001)) == [comparisons(4_001)])
    #expect(try residuals(.and([comparisons(3_000), comparisons(2_000), comparisons(1_000)])) == [comparisons(2_000)])
    #expect(try residuals(.and([list(5_000), .and([list(4), comparisons(2)])])) == [])
  }

  // MARK: Joins

  @Test func `each path is joined once, and an omitted condition joins nothing`() throws {
    let name: FetchPredicate = .path("artist.name", .equal, .string("a"))
    let artist = #""Album" AS "t" LEFT JOIN "Artist" AS "t1" ON "t1"."$id" = "t"."artist""#
    #expect(try tables(.and([name, .path("artist.code", .equal, .string("b"))])) == artist)
    #expect(
      try tables(.path("previous.previous.title", .equal, .string("a")))
        == #""Album" AS "t" LEFT JOIN "Album" AS "t1" ON "t1"."$id" = "t"."previous""#
        + #" LEFT JOIN "Album" AS "t2" ON "t2"."$id" = "t1"."previous""#)
    let entity = try #require(model.entitiesByName["Album"])
    let predicate: FetchPredicate = .or([name, .path("title", .matches, .string("b"))])
    let plan = try planner.select(StoreQuery(entity: entity, predicate: predicate))
    #expect(!plan.isPredicateExact && !plan.statement.text(in: SQLiteDialect()).contains("JOIN"))
  }

  @Test func `SQLite joins sixty-three tables, and one table fewer in a subquery`() throws {
    func path(_ steps: Int) -> FetchPredicate {
      let names = Array(repeating: "previous", count: steps) + ["title"]
      return .comparison(.path(PropertyPath(names: names)), .equal, .value(.string("a")))
    }
    #expect(try condition(path(63)) != nil)
    #expect(try condition(path(64)) == nil)
    #expect(try condition(.quantified(.any, PropertyPath("followers"), path(62))) != nil)
    #expect(try condition(.quantified(.any, PropertyPath("followers"), path(63))) == nil)
  }

  @Test func `a condition on members is a subquery with aliases of its own`() throws {
    let plays: FetchPredicate = .path("plays", .equal, .int(5))
    let tracks = PropertyPath("tracks")
    let rows = #"(SELECT 1 FROM "Track" AS "t_1" WHERE "t_1"."album" = "t"."$id" AND "#
    let outer: FetchPredicate = .comparison(
      .path(PropertyPath("plays")), .less, .path(PropertyPath(names: ["year"], outerLevel: 1)))
    let beyond: FetchPredicate = .comparison(
      .path(PropertyPath("plays")), .less, .path(PropertyPath(names: ["year"], outerLevel: 2)))
    try expect([
      (.quantified(.any, tracks, plays), #"EXISTS \#(rows)("t_1"."plays" = ?))"#),
      (.quantified(.none, tracks, plays), #"NOT EXISTS \#(rows)("t_1"."plays" = ?))"#),
      (.quantified(.all, tracks, plays), #"NOT EXISTS \#(rows)NOT (COALESCE("t_1"."plays" = ?, 0)))"#),
      (.quantified(.any, tracks, outer), #"EXISTS \#(rows)("t_1"."plays" < "t"."year"))"#),
      (.quantified(.any, tracks, beyond), nil),
      (.quantified(.any, PropertyPath("artist"), .constant(true)), nil),
    ])
    let siblings = PropertyPath("album.tracks")
    let sibling: FetchPredicate = .quantified(.any, siblings, .quantified(.any, siblings, plays))
    let text = try #require(
      try condition(.and([.quantified(.any, tracks, sibling), .quantified(.any, tracks, plays)])))
    for alias in ["t_1", "t_1_1", "t2_1", "t2_1_1", "t3_1", "t_2"] {
      #expect(text.components(separatedBy: #" AS "\#(alias)""#).count == 2, "\(alias): \(text)")
    }
  }
}
