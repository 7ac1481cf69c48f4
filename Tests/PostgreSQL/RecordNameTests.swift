import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import TestSupport
import Testing

/// Stores whose records have another name for an entity than the model has.
@Suite(.needsServer) struct RecordNameTests {
  private let schema: TemporarySchema
  init() throws { schema = try TemporarySchema() }

  /// A model with a subentity of a name of choice.
  private func model(_ film: String, formerNames: [String] = []) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Item") { Attribute("name", .string) }
      Entity(film, parent: "Item", formerNames: formerNames)
    }
  }

  @Test func `both models read a store in which an earlier framework version has renamed an entity`() throws {
    let (first, second) = (try model("Film"), try model("Movie", formerNames: ["Film"]))
    let store = try schema.open(second)
    for name in ["renamed", "late"] { try store.insert("Movie", ["name": .string(name)]) }
    store.close()
    let administration = try schema.administration()
    // The earlier version has replaced the names in the records.
    try administration.run(
      """
      UPDATE \(name: SQLSchema.metadataTable) SET \(name: "value") = CAST(pg_catalog.jsonb_set(\
      CAST(\(name: "value") AS pg_catalog.jsonb), '{tables,0,entities,1,formerNames}', '["Film"]') AS pg_catalog.text) \
      WHERE \(name: "key") = 'schema'
      """, isPrepared: false)
    // A program with the first model had the store open, and inserted a record afterwards.
    try administration.run(
      "UPDATE \(name: "Item") SET \(name: SQLTable.entity) = 'Film' WHERE \(name: "name") = 'late'", isPrepared: false)
    let expected: Set<AttributeValue> = [.string("renamed"), .string("late")]
    for (model, entity) in [(first, "Film"), (second, "Movie"), (first, "Film")] {
      let store = try schema.open(model)
      #expect(try Set(store.fetch(entity).map { $0["name"] }) == expected)
      #expect(try Set(store.fetch("Item").map { $0["name"] }) == expected)
      store.close()
    }
  }
}
