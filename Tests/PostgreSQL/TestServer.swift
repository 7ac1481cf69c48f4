import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

/// The server that the tests use, named by the environment.
enum TestServer {
  static let variable = "COHERENCE_POSTGRESQL_URL"
  static let location = ProcessInfo.processInfo.environment[variable].flatMap(URL.init(string:))
  static var isAvailable: Bool { location != nil }
}

extension Trait where Self == ConditionTrait {
  /// Skips tests that need a server if no server is configured.
  static var needsServer: Self {
    .enabled(if: TestServer.isAvailable, "Set \(TestServer.variable); `Tools/postgres start DIR` prints a URL.")
  }
}

/// A new schema for one test, which the release of the value drops.
final class TemporarySchema: Sendable {
  let url: URL
  let name: String

  private static let count = Atomic<Int>(0)

  init() throws {
    url = try #require(TestServer.location)
    let number = Self.count.add(1, ordering: .relaxed).newValue
    name = "coherence_test_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
  }

  deinit {
    // A transaction that a faulty store leaves open must not keep the other tests waiting.
    let statements: [SQLFragment] = ["SET lock_timeout = '20s'", "DROP SCHEMA IF EXISTS \(name: name) CASCADE"]
    _ = try? administration().run(statements, isPrepared: false)
  }

  /// A connection to look at the database without the store.
  func administration() throws -> PostgreSQLConnection {
    try PostgreSQLConnection.connect(PostgreSQLOptions(environment(emptyModel)), logger: Logger(label: "test"))
  }

  private var emptyModel: ManagedObjectModel {
    get throws { try ManagedObjectModel { Entity("Nothing") { Attribute("name", .string) } } }
  }

  func environment(
    _ model: ManagedObjectModel, url: URL? = nil, options: [String: OptionValue] = [:]
  ) -> StoreEnvironment {
    StoreEnvironment(
      type: .postgreSQL, url: url ?? self.url, model: model,
      options: [PostgreSQLOption.schema: .string(name)].merging(options) { $1 })
  }

  func open(_ model: ManagedObjectModel, url: URL? = nil, options: [String: OptionValue] = [:]) throws
    -> any PersistentStore
  {
    try PostgreSQLStoreFactory().open(environment(model, url: url, options: options))
  }
}

extension TemporarySchema {
  /// The server's URL with some parameters changed.
  func url(with changes: [String: String]) throws -> URL {
    var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
    let items = (parts.queryItems ?? []).filter { changes[$0.name] == nil }
    parts.queryItems = items + changes.map { URLQueryItem(name: $0.key, value: $0.value) }
    return try #require(parts.url)
  }

  /// Opens a store with an application name, so that its connections can be found.
  func openNamed(_ model: ManagedObjectModel) throws -> any PersistentStore {
    try open(model, url: url(with: ["application_name": name]))
  }

  /// Opens a store of people whose connections go through a proxy.
  func openPeople(over proxy: SocketProxy, options: [String: OptionValue] = [:]) throws -> any PersistentStore {
    try open(PeopleModel.make(), url: url(with: ["host": proxy.directory.path]), options: options)
  }

  /// Terminates the named connections and waits until they have ended.
  func terminateConnections() throws {
    try administration().run(
      """
      SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity \
      WHERE application_name = \(text: name)
      """, isPrepared: false)
  }
}
