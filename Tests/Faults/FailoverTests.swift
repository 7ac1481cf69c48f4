import CoherenceCore
import CoherencePostgreSQL
import TestSupport
import Testing

/// A store whose connections lead to a standby, as they may during a failover.
@Suite(.enabled(if: LedgerPlace.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one."))
struct FailoverTests {
  private static func store(at hosts: String...) throws -> any PersistentStore {
    let connectionString = "host=\(hosts.joined(separator: ",")) user=postgres dbname=postgres"
    return try PostgreSQLStoreFactory().open(
      StoreEnvironment(
        type: .postgreSQL, url: nil, model: PeopleModel.make(),
        options: [PostgreSQLOption.connectionString: .string(connectionString)]))
  }

  @Test func `a save on a standby is refused as read-only, and the next save reaches the primary`() async throws {
    try await onOwnThread {
      let primary = try Cluster()
      try Self.store(at: primary.host).insert("Person", ["name": .string("old")])
      try primary.shutDown()
      let standby = try Cluster(copyOf: primary, asStandby: true)
      let store = try Self.store(at: primary.host, standby.host)
      let row = try #require(try store.fetch("Person").first)
      let error = #expect(throws: CoherenceError.self) { try store.save(row.update(["name": .string("new")])) }
      #expect(error?.code == .storeReadOnly)
      #expect(error?.outcome == .notApplied)
      #expect(error?.isRetryable == true)
      // A new record needs a key first, which no transaction of the save reserves.
      let insertion = #expect(throws: CoherenceError.self) { try store.insert("Person") }
      #expect(insertion?.code == .storeReadOnly)
      #expect(insertion?.outcome == .notApplied)
      #expect(insertion?.isRetryable == true)
      try primary.start()
      try store.save(row.update(["name": .string("new")]))
      #expect(try store.current(row)?["name"] == .string("new"))
    }
  }
}
