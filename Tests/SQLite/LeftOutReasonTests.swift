import CoherenceCore
@testable import CoherenceSQL
@testable import CoherenceSQLite
import TestSupport
import Testing

/// The parts of queries that SQLite's statements leave out, and the reasons, without a file.
@Suite struct LeftOutReasonTests {
  private let album: EntityDescription
  private let planner: QueryPlanner

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int32, optional: true)
        Attribute("weight", .double, optional: true)
        Attribute("price", .decimal, optional: true)
        Relationship("previous", toOne: "Album", inverse: "followers")
        Relationship("followers", toMany: "Album", inverse: "previous")
      }
    }
    album = try model.entity(named: "Album")
    planner = QueryPlanner(for: model)
  }

  private func residuals(_ predicate: FetchPredicate?, by sortKeys: [SortKey] = []) throws -> [ResidualPart] {
    let query = StoreQuery(entity: album, predicate: predicate, sortKeys: sortKeys)
    let plan = try planner.select(query)
    let statement = plan.statement.rendered(by: SQLiteDialect())
    return try planner.explanation(query, plan, statement, steps: []).residuals
  }

  private func reason(_ predicate: FetchPredicate) throws -> ResidualPart.Reason? {
    try residuals(predicate).first?.reason
  }

  private let year: FetchExpression = .path(PropertyPath("year"))
  private let title: FetchExpression = .path(PropertyPath("title"))
  private let weight: FetchExpression = .path(PropertyPath("weight"))
  private let sum: FetchExpression = .path(PropertyPath("followers.@sum.weight"))
  private let one: FetchExpression = .value(.int(1))
  private let matching: FetchPredicate = .path("title", .matches, .string("a"))
  private let exact: FetchPredicate = .path("year", .equal, .int(5))

  @Test func `a condition has the reason of its first part without a translation`() throws {
    #expect(try reason(exact) == nil)
    #expect(try reason(matching) == .pattern)
    #expect(try reason(.path("title", .like, .string("\u{FFFD}"))) == .pattern)
    #expect(try reason(.or([exact, matching])) == .pattern)
    #expect(try reason(.or([exact, .and([exact, .comparison(year, .less, weight)]), matching])) == .types)
    #expect(try reason(.not(.comparison(year, .less, weight))) == .types)
    #expect(try reason(.comparison(title, .contains, title, .caseInsensitive)) == .textOptions)
    #expect(try reason(.comparison(title, .contains, title)) == .types)
    #expect(try reason(.membership(year, in: [.string("a")])) == .types)
    #expect(try reason(.membership(year, in: [.string("a")], .caseInsensitive)) == .textOptions)
    #expect(try reason(.quantified(.any, PropertyPath("followers"), matching)) == .noEquivalent)
  }

  @Test func `the bounds of a value have the reasons of comparisons`() throws {
    #expect(try reason(.between(year, weight, one)) == .types)
    #expect(try reason(.between(year, one, weight)) == .types)
    #expect(try reason(.between(weight, sum, .value(.double(1)))) == .aggregate)
    #expect(try reason(.between(weight, .value(.double(1)), sum)) == .aggregate)
  }

  @Test func `either side of a comparison may be the reason`() throws {
    let price: FetchExpression = .path(PropertyPath("price"))
    let calculated: FetchExpression = .arithmetic(.add, weight, price)
    let filtered: FetchExpression = .subquery(PropertyPath("followers"), matching)
    for side in [calculated, filtered] {
      #expect(try reason(.comparison(side, .less, year)) == .noEquivalent)
      #expect(try reason(.comparison(year, .less, side)) == .noEquivalent)
    }
    #expect(try reason(.comparison(sum, .less, weight)) == .aggregate)
    #expect(try reason(.comparison(weight, .less, sum)) == .aggregate)
    #expect(try reason(.membership(sum, in: [.double(1)])) == .aggregate)
    let names = Array(repeating: "previous", count: 64) + ["title"]
    #expect(try reason(.comparison(.path(PropertyPath(names: names)), .equal, title)) == .noEquivalent)
    #expect(try reason(.comparison(title, .equal, .path(PropertyPath(names: names)))) == .noEquivalent)
  }

  @Test func `a statement leaves out each criterion without a translation, and the conditions before`() throws {
    let names = Array(repeating: "previous", count: 64) + ["title"]
    let keys = [
      SortKey("followers.@sum.weight"), SortKey("title"), SortKey("followers.@avg.price"),
      SortKey(PropertyPath(names: names)),
    ]
    let parts = try residuals(.and([matching, exact, matching]), by: keys)
    #expect(parts.map(\.reason) == [.pattern, .pattern, .aggregate, .aggregate, .noEquivalent])
    #expect(parts.map(\.isOrder) == [false, false, true, true, true])
    #expect(try residuals(exact, by: keys).map(\.isOrder) == [true, true, true])
    #expect(try residuals(matching, by: [SortKey("title")]).map(\.isOrder) == [false])
    #expect(try residuals(exact, by: [SortKey("title")]).isEmpty)
  }

  // MARK: Groups

  @Test func `a condition on groups names columns by number, and has no calculation`() throws {
    func plan(_ left: FetchExpression) throws -> GroupPlan {
      let query = AggregateQuery(
        records: StoreQuery(entity: album), keys: [PropertyPath("title")], aggregates: [AggregateExpression(.count)],
        columns: [.key(0), .aggregate(0)], having: .comparison(left, .greater, .value(.int(2))), limit: 3)
      return try #require(try planner.groups(query))
    }
    let exact = try plan(.path(PropertyPath("1")))
    #expect(exact.isHavingExact && exact.isOrderExact && exact.isRangeExact)
    #expect(exact.statement.text(in: SQLiteDialect()).hasSuffix(" GROUP BY 1 HAVING COUNT(*) > ? LIMIT 3"))
    let others: [FetchExpression] = [
      .path(PropertyPath("2")), .path(PropertyPath(names: ["1", "x"])), .path(PropertyPath("year")),
      .arithmetic(.add, .path(PropertyPath("1")), one),
    ]
    for left in others {
      let inexact = try plan(left)
      #expect(!inexact.isHavingExact && !inexact.isOrderExact && !inexact.isRangeExact)
      #expect(inexact.statement.text(in: SQLiteDialect()).hasSuffix(" GROUP BY 1"))
    }
  }
}
