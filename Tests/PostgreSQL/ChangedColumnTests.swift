import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import TestSupport
import Testing

@Suite(.needsServer) struct ChangedColumnTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  @Test func `a read fails once after another program changed the type of a column, and the next read succeeds`()
    throws
  {
    let store = try schema.open(PeopleModel.make())
    let row = try store.insert("Person", ["name": .string("x")])
    // The connection keeps the statement prepared.
    #expect(try store.current(row)?["name"] == .string("x"))
    try schema.administration().run(
      """
      ALTER TABLE \(name: "Person") ALTER COLUMN \(name: "name") \
      TYPE character varying(50) COLLATE pg_catalog.\(name: "C")
      """, isPrepared: false)
    let error = #expect(throws: CoherenceError.self) { try store.current(row) }
    #expect(error?.code == .schemaChanged)
    #expect(error?.isRetryable == true)
    #expect(try store.current(row)?["name"] == .string("x"))
  }
}
