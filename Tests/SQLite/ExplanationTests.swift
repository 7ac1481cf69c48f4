import CoherenceCore
import CoherenceSQLite
import Foundation
import Testing

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
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.predicate = try FetchPredicate(format: predicate)
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

  @Test func `an explanation names the parts that SQLite leaves to the context, with the reasons`() throws {
    let explanation = try explain("year > 1990 AND title MATCHES 'B.*'")
    let query = try #require(explanation.stores.first).query
    #expect(explanation.predicate == .context)
    #expect(query.residuals.map(\.text) == ["title MATCHES ?"])
    #expect(query.residuals.map(\.reason) == [.pattern])
    #expect(query.statement?.contains("\"year\" > ?") == true)
  }
}
