import CoherenceCore
import CoherencePostgreSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct ExplanationTests {
  private let schema: TemporarySchema
  private let context: ManagedObjectContext

  init() throws {
    schema = try TemporarySchema()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make())
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url, options: [PostgreSQLOption.schema: .string(schema.name)])
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  @Test func `an explanation has the statement, and the server's plan without values`() throws {
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.predicate = .comparison(.path(PropertyPath("boss.name")), .equal, .value(.string("Zanzibar")))
    request.sortKeys = [SortKey("name")]
    let explanation = try context.performAndWait { try context.explain(request) }
    let query = try #require(explanation.stores.first).query
    #expect(query.statement?.contains("$1") == true)
    let all = flattened(query.steps)
    #expect(all.contains { $0.operation == "Sort" })
    #expect(all.contains { $0.table == "Person" && ($0.estimatedRecords ?? -1) >= 0 && ($0.estimatedCost ?? -1) > 0 })
    #expect(!explanation.description.contains("Zanzibar"))
  }

  @Test func `an explanation names the criterion that the server leaves to the context`() throws {
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.sortKeys = [SortKey("name", options: .caseInsensitive)]
    let explanation = try context.performAndWait { try context.explain(request) }
    #expect(explanation.order == .context)
    #expect(explanation.stores.first?.query.residuals.map(\.text) == ["name[c]"])
    #expect(explanation.stores.first?.query.residuals.map(\.reason) == [.textOptions])
  }

  private func flattened(_ steps: [QueryStep]) -> [QueryStep] { steps.flatMap { [$0] + flattened($0.steps) } }
}
