import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import TestSupport
import Testing

/// The server's plans of the statements that a connection keeps prepared.
@Suite(.needsServer) struct PlanTests {
  private let schema: TemporarySchema
  private let store: PostgreSQLStore
  private let context: ManagedObjectContext

  init() throws {
    schema = try TemporarySchema()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make())
    let attached = try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url,
      options: [PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2])
    store = try #require(attached as? PostgreSQLStore)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try insert(60)
    // The server does this by itself, some time after the inserts.
    _ = try rows("ANALYZE \(name: schema.name).\(name: "Person")")
  }

  private func insert(_ count: Int) throws {
    try context.performAndWait {
      for _ in 0..<count { try context.insertNewObject(forEntityName: "Person") }
      try context.save()
    }
  }

  private func fetch(_ predicate: FetchPredicate) throws {
    try context.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      request.predicate = predicate
      _ = try context.fetch(request)
    }
  }

  private func names(_ count: Int) -> FetchPredicate {
    .membership(.path(PropertyPath("name")), in: (0..<count).map { .string("\($0)") })
  }

  /// The first column of a statement's rows, on the connection that the context's units of reading use.
  private func rows(_ statement: SQLFragment) throws -> [String] {
    try store.pool.withConnection(for: .reading) { connection in
      let result = try connection.run(statement, isKept: false)
      return (0..<result.rowCount).compactMap { result.text($0, 0) }
    }
  }

  @Test func `a list of more than eight values has a plan of its own`() throws {
    for count in [8, 9, 100] {
      for _ in 0..<10 { try fetch(names(count)) }
    }
    let uses = try rows(
      """
      SELECT (generic_plans + custom_plans)::text FROM pg_catalog.pg_prepared_statements \
      WHERE statement LIKE '%"name"%= ANY(%'
      """)
    #expect(uses == ["10"])
  }

  @Test func `a look-up uses the index after a small table has grown`() throws {
    let predicate = FetchPredicate.comparison(.path(PropertyPath("email")), .equal, .value(.string("a")))
    func plan() throws -> String {
      for _ in 0..<10 { try fetch(predicate) }
      let names = try rows(
        "SELECT name FROM pg_catalog.pg_prepared_statements WHERE statement LIKE '%\"email\" = $1%'")
      let name = try #require(names.first)
      return try rows("EXPLAIN EXECUTE \(name: name)('a')").joined(separator: "\n")
    }
    #expect(try plan().contains("Seq Scan"))
    try insert(20_000)
    #expect(try !plan().contains("Seq Scan"))
  }
}
