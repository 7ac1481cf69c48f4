import Coherence
import CoherencePostgreSQL
import Foundation

extension StoreConfiguration {
  /// A store in a SQLite file, whose commits wait for the disk.
  static func sqlite(at file: URL) -> StoreConfiguration {
    StoreConfiguration(type: .sqlite, options: [SQLiteOption.synchronous: .string("full")], location: file)
  }

  /// A store in a schema of a PostgreSQL database.
  static func postgreSQL(at url: String, schema: String) throws -> StoreConfiguration {
    StoreConfiguration(
      type: .postgreSQL, options: [PostgreSQLOption.schema: .string(schema)],
      location: try PostgreSQLServer.location(of: url))
  }
}
