import CoherenceCore
import CoherenceSQL

extension SQLiteStore {
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    // Reserved keys are handed out without the file, so the state of the store is checked first.
    let file = try writableFile()
    guard count > 0 else { return 1..<1 }
    let table = try schema.requireTable(for: root)
    // Allocated in the transaction that excludes other writers. Other threads must not get keys that are not committed
    // yet.
    if isExcludingWriters {
      return try file.write { session in
        let keys = try reserveKeys(count, of: table, session)
        file.didWriteInExclusion()
        return keys
      }
    }
    return try keys.take(count, of: root) { number in
      do {
        return try write { session in
          try inTransactionWithoutRowChanges(session) { try reserveKeys(number, of: table, session) }
        }
      } catch var error as CoherenceError {
        // Keys set aside and never used change nothing.
        error.outcome = .notApplied
        throw error
      }
    }
  }

  /// Takes keys out of the key table. The keys of rows that other programs wrote are skipped.
  ///
  /// - Throws: ``ErrorCode/limitExceeded`` behind a record with the greatest key, and errors of the connection.
  private func reserveKeys(_ number: Int, of table: SQLTable, _ session: SQLiteSession) throws -> Range<Int64> {
    let recordedNext = try session.integers(
      "SELECT \(name: "next") FROM \(name: SQLSchema.keyTable) WHERE \(name: "entity") = \(text: table.keyName)")
    let greatestKey = try session.integers("SELECT COALESCE(MAX(\(name: SQLTable.id)), 0) FROM \(name: table.name)")
    let last = max(max(recordedNext.first ?? 1, 1) - 1, greatestKey.first ?? 0)
    let keys = try table.root.keys(number, after: last)
    try session.run(
      """
      INSERT INTO \(name: SQLSchema.keyTable) (\(name: "entity"), \(name: "next")) \
      VALUES (\(text: table.keyName), \(key: keys.upperBound)) \
      ON CONFLICT (\(name: "entity")) DO UPDATE SET \(name: "next") = \(name: "excluded").\(name: "next")
      """)
    return keys
  }
}
