import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import Foundation
import Testing

/// The kinds of stores that strategies are tested on.
enum Backend: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case inMemory = "in memory"
  case sqlite = "SQLite"

  static let serverURL = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"].flatMap(URL.init(string:))

  /// PostgreSQL takes part when there is a server to test with.
  static let available = allCases

  /// A store of its own for each call, except that the same name in the same place is the same store.
  func configuration(named name: String) -> StoreConfiguration {
    switch self {
    case .inMemory: StoreConfiguration(type: .inMemory, options: [InMemoryOption.sharedName: .string(name)])
    case .sqlite: StoreConfiguration(fileName: "\(name).sqlite", type: .sqlite)
    }
  }

  var testDescription: String { rawValue }
}
