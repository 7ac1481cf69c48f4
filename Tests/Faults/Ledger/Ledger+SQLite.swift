import CoherenceSQL
@testable import CoherenceSQLite
import Testing

extension Ledger {
  /// What SQLite finds wrong with the file: "ok" alone when there is nothing.
  func complaints() throws -> [String] {
    try #require(store as? SQLiteStore).write { session in
      try [session.string("PRAGMA integrity_check")].compactMap { $0 }
    }
  }
}
