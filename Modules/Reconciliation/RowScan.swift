package import CoherenceCore

/// The values that input records expect of their rows.
package protocol ExpectedValues: AnyObject {
  /// Writes the values that the row of an input record has to have, by slot, and `nil` in slots where any value will do.
  /// All slots of the scanned entity have an element.
  func readExpectedValues(
    _ index: Int, of id: ManagedObjectID, into values: inout [AttributeValue?]
  ) throws -> RowComparison

  /// Returns the number of slots to compare in a row, from the first slot on.
  func comparedSlotCount(_ index: Int, of row: Row) -> Int

  /// Notes a row that differs from the latest expected values. Not called for rows that count as different without a
  /// comparison. By default notes nothing.
  func noteDifference(_ index: Int, of row: Row, from values: [AttributeValue?])

  /// Forgets the notes on input records whose expected values will be read again, for another row.
  func forget(_ indexes: Set<Int>)
}

extension ExpectedValues {
  package func noteDifference(_ index: Int, of row: Row, from values: [AttributeValue?]) {}
}

/// The way to compare a row with its expected values.
package enum RowComparison {
  /// The store compares the slots of the scanned entity, and may skip an equal row. The scan compares the other rows.
  case inStore
  /// The scan compares, because the row may have more slots than the scanned entity.
  case inScan
  /// The row counts as different, because a value is not known yet.
  case alwaysDifferent
}

/// The choices of a scan.
package struct ScanOptions {
  /// The treatment of several rows with the key of one input record.
  package enum Duplicates {
    /// The scan throws the error.
    case refuse(CoherenceError)
    /// The oldest row is the match, and the other rows are passed over. A row of a writable store comes before all rows
    /// of read-only stores.
    case keep
    /// The match is as for ``keep``. The other rows of writable stores are superfluous, rows of subentities included.
    case remove
  }

  package var duplicates: Duplicates
  /// Whether rows of subentities without an input record are superfluous too.
  package var includesSubentities: Bool
  /// Whether rows without a complete key are superfluous too.
  package var includesIncompleteKeys: Bool

  package init(duplicates: Duplicates, includesSubentities: Bool, includesIncompleteKeys: Bool) {
    self.duplicates = duplicates
    self.includesSubentities = includesSubentities
    self.includesIncompleteKeys = includesIncompleteKeys
  }
}

/// Compares the rows of ``StoredRows`` with input records: finds the rows that differ, the superfluous rows, and the
/// input records whose rows are missing. ``resolveDuplicates(where:)`` follows each reading, with the filter of the
/// reading, unless only the superfluous rows without an input record are wanted.
///
/// The memory of a scan grows with the differences; an equal row costs a lookup of its key and no allocation. The scan is
/// not generic, because stores call it through `RowExpectation`, where a generic class is never specialised.
package final class RowScan: RowExpectation {
  /// A row that differs from its input record, or counts as different.
  package struct Change {
    /// The index of the input record.
    package let index: Int
    package let row: Row
  }

  private let rows: StoredRows
  /// The input records by their keys.
  private let inputByKey: InputIndex
  private let expected: any ExpectedValues
  private let options: ScanOptions
  private let readOnlyStores: ReadOnlyStores
  package let keySlots: [Int]

  package private(set) var changes: [Change] = []
  /// The rows of writable stores without an input record that ``readAll(where:)`` has found, as far as the options
  /// include them. With ``ScanOptions/Duplicates/remove``, ``resolveDuplicates(where:)`` adds all but the match of several
  /// rows with one key.
  package private(set) var superfluousRows: [Row] = []
  // The properties that every row touches go without the run-time check of overlapping access.
  // Safety of `@exclusivity(unchecked)`: one reading uses the scan, and no callee of an access knows the scan.
  /// The input records with a row.
  @exclusivity(unchecked) package private(set) var matched: IndexBits
  /// The matches of earlier readings, which are no duplicates when they are read again.
  private var matchedBefore: IndexBits
  /// The input records with several rows.
  private var duplicated: Set<Int> = []
  /// Whether the present reading passes all rows of a filter, so that a row of a writable store without an input record is
  /// superfluous.
  private var collectsSuperfluousRows = false
  /// The input record that the row of the last verdict matched; `nil` for a row without an input record, and for a
  /// duplicate.
  @exclusivity(unchecked) private var current: Int?
  /// The comparison and the expected values of the input record whose row was matched last.
  @exclusivity(unchecked) private var comparison = RowComparison.inStore
  @exclusivity(unchecked) private var values: [AttributeValue?] = []
  /// The number of rows so far, for the checks for cancellation.
  @exclusivity(unchecked) private var rowCount = 0

  package init(_ rows: StoredRows, inputByKey: InputIndex, expected: any ExpectedValues, options: ScanOptions) {
    self.rows = rows
    self.inputByKey = inputByKey
    self.expected = expected
    self.options = options
    readOnlyStores = ReadOnlyStores(of: rows.context)
    matched = IndexBits(capacity: inputByKey.inputCount)
    matchedBefore = matched
    keySlots = rows.keyAttributes.map(\.slot)
  }

  // MARK: Reading

  /// Reads all rows that satisfy a filter, and collects the superfluous ones.
  package func readAll(where filter: FetchPredicate?) throws {
    collectsSuperfluousRows = true
    defer { collectsSuperfluousRows = false }
    try rows.compare(where: filter, with: self)
  }

  /// Reads the rows of the input records that no reading has matched yet.
  package func readUnmatched() throws {
    try rows.forEachPredicate(matching: inputByKey.keys(notIn: matched)) { predicate in
      // With several key attributes, two predicates may match one row, which is no duplicate of itself. All rows with
      // one key satisfy the same predicates.
      matchedBefore = matched
      try rows.compare(where: predicate, with: self)
    }
  }

  /// Chooses the match of several rows with one key: the oldest row of a writable store, else the oldest row. Until then,
  /// the match is the first row of the reading.
  ///
  /// - Parameter filter: The filter of the reading before the call; `nil` after ``readUnmatched()``.
  package func resolveDuplicates(where filter: FetchPredicate? = nil) throws {
    guard !duplicated.isEmpty else { return }
    let indexes = duplicated.sorted()
    let keys = try indexes.map { try inputByKey.key(at: $0) }
    let collector = RowsByKey(Set(keys), keySlots: keySlots)
    try rows.compare(KeyColumns(keys, width: keySlots.count), and: filter, with: collector)
    changes.removeAll { duplicated.contains($0.index) }
    expected.forget(duplicated)
    for (index, key) in zip(indexes, keys) {
      let rows = collector.rows(with: key)
      let writable = rows.filter { !readOnlyStores.contain($0.id) }
      guard let match = writable.first ?? rows.first else { continue }
      comparison = try expected.readExpectedValues(index, of: match.id, into: &values)
      note(match, at: index)
      if case .remove = options.duplicates { superfluousRows += writable.dropFirst() }
    }
    duplicated = []
  }

  // MARK: RowExpectation

  package var expectedValues: [AttributeValue?] { values }

  package func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict {
    rowCount += 1
    if rowCount % 256 == 0 { try rows.checkCancellation?() }
    current = nil
    if key.isIncompleteKey { return options.includesIncompleteKeys ? verdict(onUnmatched: id) : .skip }
    guard let match = try inputByKey.index(of: key) else { return verdict(onUnmatched: id) }
    if matched.contains(match) { return try verdict(onDuplicateOf: match) }
    matched.insert(match)
    current = match
    comparison = try expected.readExpectedValues(match, of: id, into: &values)
    return comparison == .inStore ? .compare : .take
  }

  private func verdict(onUnmatched id: ManagedObjectID) -> RowVerdict {
    collectsSuperfluousRows && !readOnlyStores.contain(id) ? .take : .skip
  }

  private func verdict(onDuplicateOf match: Int) throws -> RowVerdict {
    if matchedBefore.contains(match) { return .skip }
    if case .refuse(let error) = options.duplicates { throw error }
    duplicated.insert(match)
    return .skip
  }

  package func take(_ row: Row) {
    if let current {
      note(row, at: current)
    } else if options.includesSubentities || row.entity === rows.entity {
      superfluousRows.append(row)
    }
  }

  /// Adds a matched row to the changes, if it differs from the expected values.
  private func note(_ row: Row, at index: Int) {
    if comparison != .alwaysDifferent {
      guard differs(row, at: index) else { return }
      expected.noteDifference(index, of: row, from: values)
    }
    changes.append(Change(index: index, row: row))
  }

  private func differs(_ row: Row, at index: Int) -> Bool {
    (0..<expected.comparedSlotCount(index, of: row)).contains { slot in values[slot].map { row[slot] != $0 } == true }
  }
}
