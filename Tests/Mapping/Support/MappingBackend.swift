import CoherenceCore
import CoherenceInMemory
import CoherencePostgreSQL
import CoherenceSQLite
import Foundation
import Testing

/// The kinds of stores that models are kept in here.
enum MappingBackend: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case inMemory = "in memory"
  case sqlite = "SQLite"
  case postgreSQL = "PostgreSQL"

  private static let serverURL = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"]
    .flatMap(URL.init(string:))

  /// PostgreSQL takes part when there is a server to test with.
  static let available = allCases.filter { $0 != .postgreSQL || serverURL != nil }

  /// A store of its own for each name.
  func configuration(named name: String) -> StoreConfiguration {
    switch self {
    case .inMemory: StoreConfiguration(type: .inMemory, options: [InMemoryOption.sharedName: .string(name)])
    case .sqlite: StoreConfiguration(fileName: "\(name).sqlite", type: .sqlite)
    case .postgreSQL:
      StoreConfiguration(
        type: .postgreSQL, options: [PostgreSQLOption.schema: .string("mapping_\(name.prefix(32))")],
        location: Self.serverURL)
    }
  }

  var testDescription: String { rawValue }
}
