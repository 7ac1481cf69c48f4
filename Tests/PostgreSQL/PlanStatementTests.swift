import CoherenceCore
@testable import CoherencePostgreSQL
@testable import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// The statements of queries in PostgreSQL's dialect. The tests need no server.
@Suite struct PlanStatementTests {
  private let model: ManagedObjectModel
  private let planner: QueryPlanner

  init() throws {
    model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int32, optional: true)
        Attribute("weight", .double, optional: true)
        Relationship("tags", toMany: "Tag", inverse: "albums", ordered: true)
      }
      Entity("Tag") {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
    }
    planner = QueryPlanner(
      schema: SQLSchema(
        environment: StoreEnvironment(type: .postgreSQL, url: nil, model: model), dialect: PostgreSQLDialect()),
      dialect: PostgreSQLDialect(), spaces: IDSpaces(store: StoreIdentifier("s"), model: model))
  }

  private func plan(where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = []) throws -> SelectPlan {
    let album = try model.entity(named: "Album")
    return try planner.select(StoreQuery(entity: album, predicate: predicate, sortKeys: sortKeys))
  }

  private func isExact(_ predicate: FetchPredicate) throws -> Bool { try plan(where: predicate).isPredicateExact }

  private let year: FetchExpression = .path(PropertyPath("year"))
  private let title: FetchExpression = .path(PropertyPath("title"))

  @Test func `missing values are first in ascending order and last in descending order, unless a criterion says`()
    throws
  {
    func order(_ key: SortKey) throws -> String { try plan(by: [key]).statement.text(in: PostgreSQLDialect()) }
    #expect(try order(SortKey("year")).hasSuffix(#" ORDER BY "t"."year" NULLS FIRST, "t"."$id""#))
    #expect(try order(SortKey("year", .reverse)).hasSuffix(#" ORDER BY "t"."year" DESC NULLS LAST, "t"."$id""#))
    #expect(
      try order(SortKey("year", .reverse, missingValues: .first))
        .hasSuffix(#" ORDER BY "t"."year" DESC NULLS FIRST, "t"."$id""#))
    #expect(try !order(SortKey("tags.@count")).contains("NULLS"))
    let tags = try #require(try model.entity(named: "Album").relationship(named: "tags"))
    let members = try #require(try planner.members(MemberQuery(relationship: tags, owner: 7)))
    #expect(
      members.statement.text(in: PostgreSQLDialect())
        .hasSuffix(#" ORDER BY "m"."sourcePosition" NULLS FIRST, "t"."$id""#))
  }

  @Test func `links are read in the order of the requested side`() throws {
    let links = try #require(planner.schema.linkTables.first)
    func order(fromSource: Bool) throws -> Bool {
      let (near, far) = fromSource ? (links.source, links.target) : (links.target, links.source)
      let position = fromSource ? links.sourcePosition : links.targetPosition
      return try planner.links(links.links, of: [1, 2], fromSource: fromSource).text(in: PostgreSQLDialect())
        .hasSuffix(#" WHERE "\#(near)" = ANY($1) ORDER BY "\#(near)", "\#(position)" NULLS FIRST, "\#(far)""#)
    }
    #expect(try order(fromSource: true))
    #expect(try order(fromSource: false))
  }

  @Test func `a list is one value, and has any length`() throws {
    let list: FetchPredicate = .membership(year, in: (0..<70_000 as Range<Int64>).map(AttributeValue.int))
    #expect(try isExact(list))
    #expect(try plan(where: list).statement.rendered(by: PostgreSQLDialect()).bindings.count == 1)
    #expect(try isExact(.and([list, .not(list)])))
  }

  @Test func `texts without case are equal by the letters of the constant, and have no order`() throws {
    #expect(try isExact(.comparison(title, .equal, .value(.string("K")), .caseInsensitive)))
    #expect(try !isExact(.comparison(title, .less, .value(.string("K")), .caseInsensitive)))
    #expect(try !isExact(.comparison(title, .equal, title, .caseInsensitive)))
    #expect(try isExact(.comparison(title, .equal, title)))
    #expect(try !plan(by: [SortKey("title", options: .caseInsensitive)]).isOrderExact)
    #expect(try !isExact(.comparison(title, .like, .value(.string("?e")), .diacriticInsensitive)))
    #expect(try isExact(.comparison(title, .like, .value(.string("*e")), .diacriticInsensitive)))
    #expect(try isExact(.comparison(title, .contains, .value(.string("?e")), .diacriticInsensitive)))
  }

  @Test func `the server calculates sixteen nested operations with integers`() throws {
    func calculation(_ levels: Int, of operand: FetchExpression) -> FetchPredicate {
      let left = (0..<levels).reduce(operand) { inner, _ in .arithmetic(.add, inner, .value(.int(1))) }
      return .comparison(left, .less, .value(.int(5)))
    }
    #expect(try isExact(calculation(16, of: year)))
    #expect(try !isExact(calculation(17, of: year)))
    #expect(try !isExact(calculation(1, of: .path(PropertyPath("weight")))))
    let right = (0..<16).reduce(year) { inner, _ in .arithmetic(.add, .value(.int(1)), inner) }
    #expect(try isExact(.comparison(.arithmetic(.add, year, year), .less, right)))
    #expect(try !isExact(.comparison(.arithmetic(.add, year, right), .less, year)))
  }
}
