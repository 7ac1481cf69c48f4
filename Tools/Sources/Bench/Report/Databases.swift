import Foundation

/// The databases' versions, and their effective settings.
struct Databases: Codable {
  let sqlite: String
  let libpq: String
  let postgreSQL: String?
  /// By side, the pragmas read back from a connection with the options of the measures.
  let pragmas: [String: [String: String]]
  let postgreSQLSettings: [String: String]

  private static let pragmaNames = ["journal_mode", "synchronous", "page_size", "cache_size", "wal_autocheckpoint"]
  private static let settingNames = ["fsync", "synchronous_commit", "shared_buffers", "wal_level", "max_wal_size"]

  init(_ bench: Workbench) throws {
    sqlite = RawSQLite.libraryVersion
    libpq = RawPostgreSQL.libraryVersion
    postgreSQL = try bench.postgreSQL?.version
    pragmas = try bench.scratch.with { file in
      let raw = try RawSQLite(path: file.path)
      let grdb = try GRDBDatabase(path: file.path)
      return [
        "SQLite C": try Self.read(Self.pragmaNames) { try raw.text("PRAGMA \($0)") },
        "GRDB": try Self.read(Self.pragmaNames) { try grdb.pragma($0) },
      ]
    }
    let server = bench.postgreSQL
    postgreSQLSettings = try server.map { server in try Self.read(Self.settingNames) { try server.setting($0) } } ?? [:]
  }

  private static func read(_ names: [String], _ value: (String) throws -> String) rethrows -> [String: String] {
    Dictionary(uniqueKeysWithValues: try names.map { ($0, try value($0)) })
  }
}
