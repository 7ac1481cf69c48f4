import CoherenceSQL
@testable import CoherenceSQLite
import Testing

extension Ledger {
  /// SQLite's integrity check: "ok" alone for an intact file.
  func complaints() throws -> [String] {
    try #require(store as? SQLiteStore).write { session in
      try [session.string("PRAGMA integrity_check")].compactMap { $0 }
    }
  }
}
