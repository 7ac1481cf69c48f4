import CoherenceCore
import Foundation
import Testing

@testable import CoherenceSQLite

@Suite struct ExplanationTests {
  private let place: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    place = try TemporaryStore()
    let model = try ManagedObjectModel {
      Entity("Album", uniqueness: [["code"]]) {
        Attribute("title", .string)
        Attribute("code", .string)
        Attribute("year", .int32)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  private func explain(_ predicate: String, sort: [SortKey] = []) throws -> FetchExplanation {
    try explain(FetchPredicate(format: predicate), sort: sort)
  }

  private func explain(_ predicate: FetchPredicate, sort: [SortKey] = []) throws -> FetchExplanation {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.predicate = predicate
    request.sortKeys = sort
    return try context.performAndWait { try context.explain(request) }
  }

  @Test func `an explanation has the statement, and SQLite's plan with the index`() throws {
    let explanation = try explain("code == 'X'", sort: [SortKey("year", .reverse)])
    let query = try #require(explanation.stores.first).query
    #expect(
      query.statement
        == #"SELECT "t"."$id", "t"."$version", "t"."title", "t"."code", "t"."year" FROM "Album" AS "t" "#
        + #"WHERE ("t"."code" = ?) ORDER BY "t"."year" DESC, "t"."$id""#)
    #expect(query.valueCount == 1)
    let search = try #require(query.steps.first { $0.operation == "SEARCH" })
    #expect(search.index?.contains("code") == true)
    #expect(explanation.description.contains("SEARCH of t by index"))
    let sorted = try #require(try explain("year > 1990", sort: [SortKey("title")]).stores.first).query
    #expect(sorted.steps.map(\.operation) == ["SCAN", "USE TEMP B-TREE FOR ORDER BY"])
  }

  @Test(arguments: ["AUTOMATIC COVERING INDEX", "AUTOMATIC PARTIAL COVERING INDEX"])
  func `an index that SQLite builds for one statement is a step over a scan of the table`(kind: String) {
    let line = SQLitePlanLine(number: 1, parent: 0, detail: "SEARCH t1 USING \(kind) (album=?)")
    #expect(line.step([]) == QueryStep(kind, table: "t1", steps: [QueryStep("SCAN", table: "t1")]))
  }

  @Test(arguments: ["", " LEFT-JOIN"])
  func `a line of SQLite's plan names the table and the index, also of an outer join`(join: String) {
    func step(_ detail: String) -> QueryStep { SQLitePlanLine(number: 1, parent: 0, detail: detail + join).step([]) }
    #expect(step("SCAN t1") == QueryStep("SCAN", table: "t1"))
    #expect(step("SCAN t USING COVERING INDEX Album_year") == QueryStep("SCAN", table: "t", index: "Album_year"))
    #expect(step("SEARCH t USING INDEX Album_year (year>?)") == QueryStep("SEARCH", table: "t", index: "Album_year"))
    #expect(
      step("SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?)")
        == QueryStep("SEARCH", table: "t1", index: "INTEGER PRIMARY KEY"))
  }

  @Test func `an explanation names the parts that SQLite leaves to the context, with the reasons`() throws {
    let explanation = try explain("year > 1990 AND title MATCHES 'B.*'")
    let query = try #require(explanation.stores.first).query
    #expect(explanation.predicate == .context)
    #expect(query.residuals.map(\.text) == ["title MATCHES ?"])
    #expect(query.residuals.map(\.reason) == [.pattern])
    #expect(query.statement?.contains("\"year\" > ?") == true)
  }

  @Test func `an explanation names conditions with too many values, and conditions nested too deep`() throws {
    let long = FetchPredicate.or(
      (0..<5_000 as Range<Int64>).map { .comparison(.path(PropertyPath("year")), .greater, .value(.int($0))) })
    let innermost = FetchPredicate.comparison(.path(PropertyPath("year")), .greater, .value(.int(1990)))
    let deep = (0..<60).reduce(innermost) { condition, level in
      let title = FetchPredicate.comparison(.path(PropertyPath("title")), .equal, .value(.string("\(level)")))
      return level.isMultiple(of: 2) ? .and([title, condition]) : .or([title, condition])
    }
    let reasons: [(condition: FetchPredicate, reason: ResidualPart.Reason)] = [
      (long, .tooManyValues), (deep, .tooDeep),
    ]
    for (condition, reason) in reasons {
      let explanation = try explain(condition)
      #expect(explanation.predicate == .context)
      #expect(try #require(explanation.stores.first).query.residuals.map(\.reason) == [reason])
    }
  }
}
