package import CoherenceCore
import CoherenceInMemory
import CoherencePostgreSQL
import CoherenceSQLite
package import Foundation

/// The kinds of stores for tests that run on every store.
package enum Backend: String, Sendable, CaseIterable, CustomStringConvertible {
  case inMemory = "in memory"
  case sqlite = "SQLite"
  case postgreSQL = "PostgreSQL"

  package static let serverURL = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"]
    .flatMap(URL.init(string:))

  /// Includes PostgreSQL if a test server is configured.
  package static let available = allCases.filter { $0 != .postgreSQL || serverURL != nil }
  /// The available kinds of stores that execute SQL. Unlike a store in memory, these stores outlive the program, so that
  /// a later version of the program can open them.
  package static let availableSQL = available.filter { $0 != .inMemory }

  /// Returns the configuration of a store. Each name in each test target has its own store.
  package func configuration(named name: String, target: String = #fileID) -> StoreConfiguration {
    switch self {
    case .inMemory: StoreConfiguration(type: .inMemory, options: [InMemoryOption.sharedName: .string(name)])
    case .sqlite: StoreConfiguration(fileName: "\(name).sqlite", type: .sqlite)
    case .postgreSQL:
      StoreConfiguration(
        type: .postgreSQL,
        options: [PostgreSQLOption.schema: .string("\(target.prefix { $0 != "/" })_\(name.prefix(32))".lowercased())],
        location: Self.serverURL)
    }
  }

  /// Returns the configuration of a store that no other test has.
  package func newConfiguration(target: String = #fileID) -> StoreConfiguration {
    configuration(named: UUID().uuidString.filter(\.isHexDigit), target: target)
  }

  package var description: String { rawValue }
}
