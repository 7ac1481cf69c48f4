import ArgumentParser
import CoherenceCore
import CoherencePostgreSQL
import CoherenceSQLite
import Foundation

/// The arguments that name a command's store.
struct StoreArguments: ParsableArguments {
  @Argument(help: "The file of a SQLite store, or the postgresql:// URL of a database.")
  var store: String

  @Option(help: "The schema of a PostgreSQL store; 'public' if it is left out.")
  var schema: String?

  /// Returns the location from the arguments.
  ///
  /// - Throws: A `UsageError` for a missing file, and for an invalid URL.
  func place() throws -> StorePlace {
    if store.hasPrefix("postgresql://") || store.hasPrefix("postgres://") { return try serverPlace() }
    guard schema == nil else {
      throw UsageError("The option '--schema' is of PostgreSQL stores; a file has no schema.")
    }
    let url = URL(fileURLWithPath: store)
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
      throw UsageError("'\(store)' does not exist; name the file of a store. The tool makes no store.")
    }
    guard !isDirectory.boolValue else { throw UsageError("'\(store)' is a directory; name the file of a store in it.") }
    guard FileManager.default.isReadableFile(atPath: url.path) else {
      throw UsageError("Access to '\(store)' is denied; check its permissions.")
    }
    return StorePlace(
      type: .sqlite, url: url, name: "'\(store)'", absence: "'\(store)' is an empty file and no store.",
      readsOnly: !FileManager.default.isWritableFile(atPath: url.path))
  }

  private func serverPlace() throws -> StorePlace {
    guard let url = URL(string: store) else {
      throw UsageError("The URL of the database cannot be read; it has the form postgresql://user@host/database.")
    }
    let name = "The schema '\(schema ?? "public")' of the database"
    return StorePlace(
      type: .postgreSQL, url: url, options: schema.map { [PostgreSQLOption.schema: .string($0)] } ?? [:], name: name,
      absence: "\(name) has no store; name another schema with '--schema'.", readsOnly: true)
  }
}
