import CoherenceConformance
import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging
import Synchronization

/// PostgreSQL stores on the server that the environment names, each in a schema of its own.
struct PostgreSQLHarness: StoreHarness {
  let name = "PostgreSQL"
  private let url: URL

  /// `nil` without a server.
  init?() {
    guard let url = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"].flatMap(URL.init(string:)) else {
      return nil
    }
    self.url = url
  }

  func makeLocation() throws -> any StoreLocation { PostgreSQLLocation(url: url) }
}

private final class PostgreSQLLocation: StoreLocation {
  let type = StoreType.postgreSQL
  let url: URL?
  let options: [String: OptionValue]
  private let schema: String
  private static let count = Atomic<Int>(0)

  init(url: URL) {
    self.url = url
    let number = Self.count.add(1, ordering: .relaxed).newValue
    schema = "coherence_differential_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
    options = [PostgreSQLOption.schema: .string(schema)]
  }

  func destroy() throws {
    let model = try ManagedObjectModel { Entity("Nothing") { Attribute("name", .string) } }
    let environment = StoreEnvironment(type: type, url: url, model: model, options: options)
    let connection = try PostgreSQLConnection.connect(
      PostgreSQLOptions(environment), logger: Logger(label: "differential"))
    _ = try connection.run("SET client_min_messages = warning", isPrepared: false)
    _ = try connection.run("DROP SCHEMA IF EXISTS \(name: schema) CASCADE", isPrepared: false)
  }
}
