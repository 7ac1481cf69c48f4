import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Synchronization
import TestSupport
import Testing

/// A transaction that a server forgets in a crash or a failover, while another transaction gets its number.
@Suite(.enabled(if: LedgerPlace.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one."))
struct LostCommitTests {
  /// Opens the ledger at a server, or over a connection string.
  private static func ledger(
    at url: URL, _ connectionString: String? = nil, statementTimeout: Double = 60, poolTimeout: Double = 30
  ) throws -> Ledger {
    var options: [String: OptionValue] = [
      PostgreSQLOption.statementTimeout: .double(statementTimeout), PostgreSQLOption.poolTimeout: .double(poolTimeout),
    ]
    if let connectionString { options[PostgreSQLOption.connectionString] = .string(connectionString) }
    return try Ledger(type: .postgreSQL, at: url, options: options)
  }

  /// Saves into a ledger with one earlier save, and disturbs the servers instead of the commit.
  private static func saveLosing(
    _ ledger: Ledger, _ proxy: SocketProxy, _ body: @escaping @Sendable () throws -> Void
  ) throws -> CoherenceError? {
    let done = Mutex<Result<Void, any Error>?>(nil)
    proxy.cut(at: "COMMIT\0") {
      let result = Result { try body() }
      done.withLock { $0 = result }
    }
    let error = #expect(throws: CoherenceError.self) { try ledger.save() }
    try #require(done.withLock { $0 }, "The store did not commit.").get()
    return error
  }

  /// A server with a ledger of one save, and its standby.
  private static func replicatedClusters() throws -> (primary: Cluster, standby: Cluster) {
    let primary = try Cluster()
    try ledger(at: primary.url).save()
    try primary.shutDown()
    let standby = try Cluster(copyOf: primary, asStandby: true)
    try primary.start()
    return (primary, standby)
  }

  private static func hosts(_ hosts: String..., attributes: String = "any") -> String {
    "host=\(hosts.joined(separator: ",")) user=postgres dbname=postgres target_session_attrs=\(attributes)"
  }

  @Test func `a commit that the server never flushed is not acknowledged when its number is handed out again`()
    async throws
  {
    try await onOwnThread {
      let cluster = try Cluster()
      try Self.ledger(at: cluster.url).save()
      let proxy = try SocketProxy(to: cluster.url)
      let ledger = try Self.ledger(at: proxy.url)
      // Nothing but a commit brings the transaction to the disk.
      try cluster.freezeBackground()
      let error = try Self.saveLosing(ledger, proxy) {
        let lost = try cluster.openTransaction()
        try cluster.killAll()
        try cluster.start()
        try cluster.handOutAgain(lost)
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.outcome == .notApplied)
      #expect(try Self.ledger(at: cluster.url).audit() == 1)
      // The failed save's changes are still unsaved in the context.
      try ledger.context.performAndWait { try ledger.context.save() }
      #expect(try Self.ledger(at: cluster.url).audit() == 2)
    }
  }

  @Test func `a commit that a promoted standby never got is not acknowledged`() async throws {
    try await onOwnThread {
      let (primary, standby) = try Self.replicatedClusters()
      let proxy = try SocketProxy(to: primary.url)
      let ledger = try Self.ledger(at: primary.url, Self.hosts(proxy.directory.path, standby.host))
      let error = try Self.saveLosing(ledger, proxy) {
        let lost = try primary.openTransaction()
        try primary.killAll()
        proxy.refuse()
        try standby.promote()
        try standby.handOutAgain(lost)
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.outcome == .notApplied)
      #expect(try Self.ledger(at: standby.url).audit() == 1)
      try ledger.context.performAndWait { try ledger.context.save() }
      #expect(try Self.ledger(at: standby.url).audit() == 2)
    }
  }

  @Test(arguments: ["any", "read-write"])
  func `a commit on a lost server has an unknown outcome while only a standby responds`(
    _ attributes: String
  ) async throws {
    try await onOwnThread {
      let (primary, standby) = try Self.replicatedClusters()
      let proxy = try SocketProxy(to: primary.url)
      let hosts = Self.hosts(proxy.directory.path, standby.host, attributes: attributes)
      let ledger = try Self.ledger(at: primary.url, hosts, poolTimeout: 1)
      let error = try Self.saveLosing(ledger, proxy) {
        try primary.killAll()
        proxy.refuse()
      }
      #expect(error?.code == .connectionLost)
      #expect(error?.outcome == .unknown)
      #expect(error?.isRetryable == false)
    }
  }

  @Test func `the outcome of a long commit is queried on its own host, not on a restarted other one`() async throws {
    try await onOwnThread {
      let first = try Cluster()
      try Self.ledger(at: first.url).save()
      try first.shutDown()
      let second = try Cluster(copyOf: first)
      let ledger = try Self.ledger(
        at: first.url, Self.hosts(first.host, second.host), statementTimeout: 1, poolTimeout: 5)
      // From now on the store needs no more connections, which would go to the first host.
      try ledger.save()
      let administration = try second.administration()
      // A commit waits three seconds for a lock, and continues without it.
      _ = try administration.run(
        [
          """
          CREATE FUNCTION \(name: "wait") () RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '3s' AS \
          'BEGIN PERFORM pg_catalog.pg_advisory_lock_shared(4711); RETURN NEW; \
          EXCEPTION WHEN lock_not_available THEN RETURN NEW; END'
          """,
          """
          CREATE CONSTRAINT TRIGGER \(name: "wait") AFTER INSERT ON \(name: "Deposit") DEFERRABLE INITIALLY DEFERRED \
          FOR EACH ROW EXECUTE FUNCTION \(name: "wait") ()
          """,
          "SELECT pg_catalog.pg_advisory_lock(4711)",
        ], isPrepared: false)
      try first.start()
      try ledger.save()
      #expect(try Self.ledger(at: second.url).audit() == 3)
      #expect(try Self.ledger(at: first.url).audit() == 1)
      withExtendedLifetime(administration) {}
    }
  }
}
