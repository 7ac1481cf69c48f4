import CoherenceCore
import CoherenceSQL
import GRDBSQLite

extension SQLiteSession {
  /// Whether the file is a store; `false` for an empty file.
  ///
  /// - Throws: ``ErrorCode/notADatabase`` when the file is a database of another program, or keeps texts in UTF-16.
  func isStore(path: String) throws -> Bool {
    // One statement, because another process may make the tables of the store at the same time.
    let parts = try integers(
      "SELECT type = 'table' AND name = \(text: SQLSchema.metadataTable) FROM sqlite_master")
    if !parts.isEmpty, !parts.contains(1) {
      throw CoherenceError(
        .notADatabase, "'\(path)' is a SQLite database, but not a store; choose another file, or move this one away.")
    }
    // SQLite compares texts by their bytes, which have another order in UTF-16.
    let encoding = try string("PRAGMA encoding") ?? ""
    guard encoding == "UTF-8" else {
      throw CoherenceError(
        .notADatabase,
        "'\(path)' is a SQLite database with texts in \(encoding), which have another order than texts in UTF-8; "
          + "choose another file, or move this one away.")
    }
    return !parts.isEmpty
  }

  /// Returns the state that the store has recorded of itself; `nil` in an empty file.
  ///
  /// - Throws: As ``isStore(path:)``, and ``ErrorCode/storeCorrupt`` for an unreadable state.
  func storeState(path: String) throws -> StoreState? {
    guard try isStore(path: path) else { return nil }
    let statement: SQLFragment = "SELECT \(name: "key"), \(name: "value") FROM \(name: SQLSchema.metadataTable)"
    let entries = try with(statement) { statement in
      var entries: [String: String] = [:]
      while try statement.step() { entries[statement.string(0)] = statement.string(1) }
      return entries
    }
    return try StoreState(entries: entries, location: "'\(path)'")
  }

  func write(_ state: StoreState) throws {
    for statement in try state.statements { try run(statement) }
  }

  /// The keys and the values in the rows of a statement.
  private func values(_ fragment: SQLFragment, _ storage: StorageType) throws -> ConversionStep.Values {
    try with(fragment) { statement in
      var values: ConversionStep.Values = []
      while try statement.step() {
        var value: AttributeValue?
        if let cell = sqlite3_column_value(statement.handle, 1) {
          value = SQLiteRowDecoder.value(of: cell, as: storage)
        }
        guard let value else { throw ConversionStep.unreadable(storage) }
        values.append((statement.integer(0), value))
      }
      return values
    }
  }

  /// Changes the tables, and the recorded state of the store.
  func apply(_ change: SchemaChange) throws {
    try change.run(write: { for statement in $0 { try run(statement) } }, values: values, integers: integers)
    try write(change.state)
  }
}
