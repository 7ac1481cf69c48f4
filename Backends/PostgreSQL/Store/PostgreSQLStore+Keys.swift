import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore {
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    // Reserved keys are handed out without a connection, so the state of the store is checked first.
    try checkIsWritable()
    guard count > 0 else { return 1..<1 }
    let table = try schema.requireTable(for: root)
    return try keys.take(count, of: root.root) { number in
      do {
        return try reserveKeys(number, of: table)
      } catch {
        // A record of another program has the greatest key, or one near to it.
        if error.serverFailure?.isOutOfRange == true { throw root.keysExhausted }
        throw error
      }
    }
  }

  /// Takes keys out of the key table, in a transaction of its own. The keys of rows that other programs wrote are
  /// skipped.
  private func reserveKeys(_ number: Int, of table: SQLTable) throws -> Range<Int64> {
    let used: SQLFragment = "(SELECT COALESCE(MAX(\(name: SQLTable.id)), 0) FROM \(name: table.name))"
    let count: SQLFragment = "\(key: Int64(number))"
    let result = try write { connection in
      try connection.run(
        """
        INSERT INTO \(name: SQLSchema.keyTable) AS \(name: "k") (\(name: "entity"), \(name: "next")) \
        VALUES (\(text: table.keyName), GREATEST(\(used), 0) + 1 + \(count)) \
        ON CONFLICT (\(name: "entity")) DO UPDATE \
        SET \(name: "next") = GREATEST(\(name: "k").\(name: "next"), \(used) + 1) + \(count) RETURNING \(name: "next")
        """)
    }
    guard let next = result.int(0, 0) else {
      throw CoherenceError(
        .storeCorrupt,
        "The table of keys returned no key for '\(table.root.name)'; restore the database from a backup.")
    }
    return next - Int64(number)..<next
  }
}
