import CoherenceCore
import CoherenceSQL

extension SQLiteSession {
  /// What the store has written down of itself; `nil` in an empty file.
  ///
  /// - Throws: ``ErrorCode/notADatabase`` when the file is the database of something else.
  func storeState(path: String) throws -> StoreState? {
    let tables = try integers(
      "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = \(text: SQLSchema.metadataTable)")
    guard tables == [1] else {
      if try integers("SELECT COUNT(*) FROM sqlite_master") == [0] { return nil }
      throw CoherenceError(
        .notADatabase, "'\(path)' is a SQLite database, but not a store; choose another file, or move this one away.")
    }
    let statement: SQLFragment = "SELECT \(name: "key"), \(name: "value") FROM \(name: SQLSchema.metadataTable)"
    let entries = try with(statement) { statement in
      var entries: [String: String] = [:]
      while try statement.step() { entries[statement.string(0)] = statement.string(1) }
      return entries
    }
    return try StoreState(entries: entries, place: "'\(path)'")
  }

  func write(_ state: StoreState) throws {
    for (key, value) in try state.entries {
      try run(
        """
        INSERT INTO \(name: SQLSchema.metadataTable) (\(name: "key"), \(name: "value")) \
        VALUES (\(text: key), \(text: value)) \
        ON CONFLICT (\(name: "key")) DO UPDATE SET \(name: "value") = \(name: "excluded").\(name: "value")
        """)
    }
  }

  /// Changes the tables, and what the store says of itself.
  func apply(_ change: SchemaChange) throws {
    do {
      for statement in change.statements { try run(statement) }
    } catch let failure as SQLiteFailure where failure.code == SQLiteCode.unique {
      throw CoherenceError(
        .incompatibleModel,
        "The model makes properties unique that are not in the store's records (\(failure.message)); remove the "
          + "duplicates first, with a program that has the former model.",
        underlying: failure)
    }
    try write(change.state)
  }
}
