import CoherenceCore
import CoherenceSQL

// The deletes of a save. One statement deletes all records of a range of keys, because the start and the end of a run of
// a statement cost more than the delete of a row.

extension SQLiteSave {
  /// The least number of records for which a range is worth a statement of its own.
  private static let leastRange = 8

  /// Deletes records, and refuses a record at another version.
  func delete(_ deletes: [RowDelete], of entity: EntityDescription) throws {
    var others: [RowDelete] = []
    for range in deletes.sortedByKey.rangesOfKeys {
      if range.count < Self.leastRange {
        others += range
      } else if try !deleteRange(range, of: entity) {
        try deleteOneByOne(range, of: entity)
      }
    }
    try deleteOneByOne(others[...], of: entity)
  }

  private func deleteOneByOne(_ deletes: ArraySlice<RowDelete>, of entity: EntityDescription) throws {
    guard !deletes.isEmpty else { return }
    try runAll(store.saveStatements.delete(entity), entity: entity, checkingVersion: true, deletes) {
      (delete: RowDelete) in .record(delete.id, baseVersion: delete.baseVersion)
    }
  }

  /// Deletes records of consecutive keys and one version.
  ///
  /// - Returns: `false`, without a delete, when a constraint refuses a record. SQLite does not name the record; the
  ///   deletes of single records find it.
  private func deleteRange(_ range: ArraySlice<RowDelete>, of entity: EntityDescription) throws -> Bool {
    guard let first = range.first, let last = range.last else { return true }
    return try withStatement(store.saveStatements.deleteRange(entity), entity: nil, times: 1) { statement in
      try statement.bind([first.id.key, last.id.key, first.baseVersion])
      do {
        try statement.run()
      } catch let failure as SQLiteFailure where failure.isConstraint && session.isInTransaction {
        // SQLite has undone the whole run. Once a trigger of another program has rolled back the transaction, SQLite
        // would commit each further delete by itself.
        return false
      }
      guard statement.changes == range.count else { throw Refusal(id: try stored(in: range, entity) ?? first.id) }
      return true
    }
  }

  /// The first record of a range that the delete of the range has left in the store: a record at another version, or one
  /// that a trigger of another program keeps. `nil` if a record was not in the store before.
  private func stored(in range: ArraySlice<RowDelete>, _ entity: EntityDescription) throws -> ManagedObjectID? {
    guard let first = range.first, let last = range.last else { return nil }
    let (table, id) = (try store.schema.requireTable(for: entity), SQLFragment.name(SQLTable.id))
    let keys = try session.integers(
      """
      SELECT \(id) FROM \(name: table.name) WHERE \(id) BETWEEN \(key: first.id.key) AND \(key: last.id.key) \
      ORDER BY \(id) LIMIT 1
      """)
    return range.first { $0.id.key == keys.first }?.id
  }
}

extension [RowDelete] {
  /// The deletes in the order of their keys, in which most callers have them.
  fileprivate var sortedByKey: [RowDelete] {
    let isSorted = zip(self, dropFirst()).allSatisfy { $0.id.key < $1.id.key }
    return isSorted ? self : sorted { $0.id.key < $1.id.key }
  }

  /// The deletes in slices of consecutive keys and one version. The deletes are sorted by key.
  fileprivate var rangesOfKeys: [ArraySlice<RowDelete>] {
    var ranges: [ArraySlice<RowDelete>] = []
    var start = startIndex
    for index in indices.dropFirst() {
      let (former, next) = (self[index - 1], self[index])
      if next.id.key == former.id.key &+ 1, next.baseVersion == former.baseVersion { continue }
      ranges.append(self[start..<index])
      start = index
    }
    if !isEmpty { ranges.append(self[start...]) }
    return ranges
  }
}

extension SQLiteStatement {
  fileprivate func bind(_ integers: [Int64]) throws {
    for (index, integer) in integers.enumerated() { try bind(integer, at: CInt(index + 1)) }
  }
}
