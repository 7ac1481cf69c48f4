import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import CoherenceSQLite
import Foundation
import Logging

/// The location of a ledger, passed from process to process.
struct LedgerPlace: Sendable, Codable {
  enum Backend: String, Sendable, Codable { case sqlite, postgreSQL }

  var backend: Backend
  var url: URL
  var schema = "public"

  /// The server that the tests use, named by the environment.
  static let server = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"].flatMap(URL.init(string:))

  private var options: [String: OptionValue] {
    switch backend {
    case .sqlite: [:]
    // A long timeout for a stopped server would only make tests long.
    case .postgreSQL: [PostgreSQLOption.schema: .string(schema), PostgreSQLOption.poolTimeout: 1]
    }
  }

  func open() throws -> Ledger {
    try Ledger(type: backend == .sqlite ? .sqlite : .postgreSQL, at: url, options: options)
  }

  /// Removes the ledger from its server.
  func remove() throws {
    let environment = StoreEnvironment(type: .postgreSQL, url: url, model: Ledger.model, options: options)
    let connection = try PostgreSQLConnection.connect(PostgreSQLOptions(environment), logger: Logger(label: "test"))
    try connection.run("DROP SCHEMA IF EXISTS \(name: schema) CASCADE", isPrepared: false)
  }
}
