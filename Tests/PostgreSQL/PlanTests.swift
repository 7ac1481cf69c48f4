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
  private let log = MessageLog()

  init() throws {
    schema = try TemporarySchema()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make(), logger: log.logger)
    let attached = try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url,
      options: [PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2])
    store = try #require(attached as? PostgreSQLStore)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
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

  /// The first column of a statement's rows, on the connection that the context's readers use.
  private func rows(_ statement: SQLFragment) throws -> [String] {
    try store.pool.withConnection(for: .reading) { connection in
      let result = try connection.run(statement, isPrepared: false)
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

  @Test func `a connection discards its plans once after every thousand inserted rows`() throws {
    func discards() throws -> Int {
      log.removeAll()
      for _ in 0..<3 { try fetch(names(1)) }
      return log.messages.count { $0.hasPrefix("DISCARD PLANS") }
    }
    #expect(try discards() == 0)
    try insert(900)
    #expect(try discards() == 0)
    try insert(100)
    #expect(try discards() == 1)
    try insert(3_000)
    #expect(try discards() == 1)
  }
}
