import CoherenceCore
import CoherenceMapping
@testable import CoherencePostgreSQL
import CoherenceSQL
import CoherenceSQLite
import Foundation
import GRDBSQLite
import Logging
import Testing

/// A database that disappears while a manager saves into it. The error is typed, no save is partial, and the manager
/// and the given context stay usable.
@Suite struct MappingFaultTests {
  // MARK: SQLite

  /// Faults of a disk, with the errors that a save must throw for them.
  private static let troubles: [(call: Disk.Call, code: CInt, expected: ErrorCode)] = [
    (.write, SQLITE_FULL, .storeFull), (.write, SQLITE_IOERR | 3 << 8, .inputOutput),
    (.sync, SQLITE_IOERR | 4 << 8, .inputOutput),
  ]

  @Test(arguments: troubles.indices, [false, true])
  func `a save on a failing disk saves nothing, and the next save passes`(trouble: Int, isLasting: Bool) throws {
    let (call, code, expected) = Self.troubles[trouble]
    var (number, firings) = (1, 0)
    while true {
      let directory = try TemporaryDirectory()
      let disk = Disk(directory)
      let purse = try Purse(directory)
      disk.fail(Disk.Fault(call: call, number: number, isLasting: isLasting, code: code))
      let error = try purse.failure { try purse.change() }
      let didFail = disk.failures > 0
      disk.fail(nil)
      if let error {
        #expect(error.code == expected && error.outcome != .applied && didFail)
        #expect(try purse.content() == Purse.before)
        try purse.change()
      }
      #expect(try purse.content() == Purse.after)
      guard didFail else { break }
      firings += 1
      number += number < 6 ? 1 : 5
    }
    #expect(firings > 0, "Too few faults occurred for a meaningful test.")
  }

  @Test(arguments: [true, false])
  func `a save into a deleted or moved file fails and loses no change`(isMoved: Bool) throws {
    let directory = try TemporaryDirectory()
    let purse = try Purse(directory)
    let elsewhere = directory.url.appendingPathComponent("elsewhere.sqlite")
    if isMoved {
      try FileManager.default.moveItem(at: directory.store, to: elsewhere)
    } else {
      try FileManager.default.removeItem(at: directory.store)
    }
    let error = try #require(try purse.failure { try purse.change() })
    #expect(error.code == .storeInaccessible && error.outcome == .notApplied)
    #expect(error.message.contains("moved or deleted"))
    #expect(try purse.content() == Purse.before)
    if isMoved {
      // The store works again once the file is in its place.
      try FileManager.default.moveItem(at: elsewhere, to: directory.store)
    } else {
      try purse.manager.destroy()
      #expect(try purse.content() == [])
    }
    try purse.change()
    #expect(try purse.content() == Purse.after)
  }

  // MARK: PostgreSQL

  @Test(needsServer, arguments: ["at a record in the middle", "at the end"])
  func `a save whose connection ends saves nothing, and the next save passes`(moment: String) throws {
    let server = try Server()
    defer { server.remove() }
    let purse = try Purse(server.configuration)
    try server.administration().run(
      """
      CREATE FUNCTION \(name: "end") () RETURNS trigger LANGUAGE plpgsql AS \
      'BEGIN PERFORM pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid()); RETURN NEW; END'
      """, isPrepared: false)
    let (event, timing): (SQLFragment, SQLFragment) =
      moment == "at the end"
      ? ("CONSTRAINT TRIGGER t AFTER", "DEFERRABLE INITIALLY DEFERRED") : ("TRIGGER t BEFORE", "")
    try server.administration().run(
      """
      CREATE \(event) INSERT ON \(name: "Coin") \(timing) FOR EACH ROW WHEN (NEW.\(name: "number") = 200) \
      EXECUTE FUNCTION \(name: "end") ()
      """, isPrepared: false)
    let error = try #require(try purse.failure { try purse.change() })
    #expect(error.code == .connectionLost && error.outcome == .notApplied && error.isRetryable)
    #expect(try purse.content() == Purse.before)
    try server.administration().run("DROP TRIGGER t ON \(name: "Coin")", isPrepared: false)
    try purse.change()
    #expect(try purse.content() == Purse.after)
  }

  @Test(needsServer) func `a save whose connection is terminated by an administrator saves nothing`() async throws {
    let server = try Server()
    defer { server.remove() }
    let purse = try Purse(server.configuration)
    let error = try await purse.failure(in: server) { locked in
      try locked.run(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE \(Server.isBlockedByUs)",
        isPrepared: false)
    }
    #expect(error.code == .connectionLost && error.outcome == .notApplied)
    #expect(try purse.content() == Purse.before)
    try purse.change()
    #expect(try purse.content() == Purse.after)
  }

  @Test(needsServer, Effort.onRequest)
  func `a save with its server stopped saves nothing, and passes once the server runs again`() async throws {
    let cluster = try Cluster()
    let server = try Server(cluster.url)
    let purse = try Purse(server.configuration)
    let error = try await purse.failure(in: server) { _ in try cluster.stopAtOnce() }
    #expect(error.code == .connectionLost || error.code == .serverUnreachable)
    #expect(error.outcome == .notApplied)
    #expect(throws: CoherenceError.self) { try purse.content() }
    try cluster.start()
    #expect(try purse.content() == Purse.before)
    try purse.change()
    #expect(try purse.content() == Purse.after)
  }

  private static let needsServer: ConditionTrait = .enabled(
    if: LedgerPlace.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one.")
}

// MARK: - Saved models

private struct Coin: Codable, Sendable, Hashable {
  var number: Int
  var mint: String

  static let mapping = Mapping<Coin>("Coin", uid: \.number) {
    Field("number", \.number)
    Field("mint", \.mint)
  }
}

/// Coins that a manager keeps.
private final class Purse: Sendable {
  let manager: PersistenceManager

  static let before = (0..<100).map { Coin(number: $0, mint: "old") }
  /// The models after the change: some unchanged, some updated, some deleted, and some new.
  static let after =
    (0..<20).map { Coin(number: $0, mint: "old") } + (20..<60).map { Coin(number: $0, mint: "new") }
    + (100..<300).map { Coin(number: $0, mint: "new") }

  init(_ configuration: StoreConfiguration, in directory: URL? = nil) throws {
    let coins = Coin.mapping
    manager = PersistenceManager(
      name: "Purse", model: try ManagedObjectModel { coins }, storeConfigurations: [configuration],
      storeLocation: directory)
    try manager.load()
    try manager.save(Coin.mapping, models: Self.before, shouldOverwrite: true)
  }

  convenience init(_ directory: TemporaryDirectory) throws {
    try self.init(StoreConfiguration(fileName: "store.sqlite", type: .sqlite), in: directory.url)
  }

  func content() throws -> [Coin] {
    try manager.fetchModels(Coin.mapping, sort: [Coin.mapping.order(\.number)])
  }

  /// Saves in a given context. The test can check that the context has no changes before and after it.
  func change() throws {
    let context = manager.workerContext
    defer { #expect(!context.performAndWait { context.hasChanges }) }
    try manager.save(Coin.mapping, models: Self.after, shouldOverwrite: true, context: context)
  }

  /// Returns the error of a failed save, which must be a `CoherenceError`.
  func failure(of save: () throws -> Void) throws -> CoherenceError? {
    do {
      try save()
      return nil
    } catch {
      return try #require(error as? CoherenceError)
    }
  }

  /// Returns the error of a save that waits in the server during a fault there.
  func failure(
    in server: Server, _ happening: (PostgreSQLConnection) throws -> Void
  ) async throws -> CoherenceError {
    let locked = try server.administration()
    _ = try locked.run(["BEGIN", "LOCK TABLE \(name: "Coin") IN EXCLUSIVE MODE"], isPrepared: false)
    async let save = manager.save(Coin.mapping, models: Self.after, shouldOverwrite: true)
    while try locked.run(
      "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE \(Server.isBlockedByUs)", isPrepared: false
    ).rowCount == 0 { await Task.yield() }
    try happening(locked)
    let result: Result<SaveResult, any Error>
    do { result = .success(try await save) } catch { result = .failure(error) }
    _ = try? locked.run("ROLLBACK", isPrepared: false)
    return try #require(throws: CoherenceError.self) { try result.get() }
  }
}

/// A schema of its own on a server.
private struct Server {
  let configuration: StoreConfiguration
  private let environment: StoreEnvironment
  private let schema = "mapping_faults_\(UUID().uuidString.prefix(8))".lowercased()

  init(_ url: URL? = LedgerPlace.server) throws {
    // A long timeout for a stopped server would only make tests long.
    let options: [String: OptionValue] = [PostgreSQLOption.schema: .string(schema), PostgreSQLOption.poolTimeout: 1]
    configuration = StoreConfiguration(type: .postgreSQL, options: options, location: url)
    let coins = Coin.mapping
    environment = StoreEnvironment(
      type: .postgreSQL, url: url, model: try ManagedObjectModel { coins }, options: options)
  }

  /// A connection to look at the database without the store.
  func administration() throws -> PostgreSQLConnection {
    try PostgreSQLConnection.connect(PostgreSQLOptions(environment), logger: Logger(label: "test"))
  }

  func remove() { _ = try? administration().run("DROP SCHEMA IF EXISTS \(name: schema) CASCADE", isPrepared: false) }

  static let isBlockedByUs: SQLFragment = "pg_catalog.pg_backend_pid() = ANY(pg_catalog.pg_blocking_pids(pid))"
}
