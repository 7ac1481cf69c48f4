// Comparison of records with expected values, without objects and, if the store supports it, without rows.

extension ManagedObjectContext {
  /// Compares the records of a request with an expectation, which receives the differing rows.
  ///
  /// Unsaved changes count as in ``fetch(_:)``: the rows have the unsaved values. Order and range of the request have
  /// no effect. A ``RowComparing`` store makes no rows of equal records.
  ///
  /// - Throws: As ``fetch(_:)``, and errors of the expectation, which end the read.
  package final func compare<R: ManagedObject>(_ request: FetchRequest<R>, with expectation: any RowExpectation) throws
  {
    try operating {
      let filter = ExpectationFilter(expectation)
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        try reading(request) { plan in
          var compared = ComparisonSink(filter: filter)
          try FetchExecution(plan, in: self).scan(into: &compared)
        }
      } as: { _ in
        .fetch(records: filter.count)
      }
    }
  }
}

/// Passes records to an expectation.
private struct ComparisonSink: FetchSink {
  let filter: ExpectationFilter
  var sharesRows: Bool { true }

  func receive(_ rows: [Row]) throws {
    for row in rows {
      try filter.countRow()
      try filter.expectation.put(row)
    }
  }

  func receive(_ records: ArraySlice<RecordState>) throws {
    for record in records { try filter.expectation.put(record.row) }
  }

  func receiveAll(of query: StoreQuery, from reader: any StoreReader, except unsaved: UnsavedStates) throws -> Bool {
    guard let reader = reader as? any RowComparing else { return false }
    filter.unsaved = unsaved
    return try reader.compare(query, with: filter)
  }
}

/// Passes rows to an expectation and counts them. Leaves out rows of records with unsaved changes, whose stored values
/// do not count.
private final class ExpectationFilter: RowExpectation {
  let expectation: any RowExpectation
  let keySlots: [Int]
  // Safety of `@exclusivity(unchecked)`: one reading uses the filter, and no callee of an access knows the filter.
  @exclusivity(unchecked) var unsaved = UnsavedStates()
  @exclusivity(unchecked) private(set) var count = 0

  init(_ expectation: any RowExpectation) {
    self.expectation = expectation
    keySlots = expectation.keySlots
  }

  var expectedValues: [AttributeValue?] { expectation.expectedValues }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict {
    if unsaved.replaces(id) { return .skip }
    try countRow()
    return try expectation.verdict(on: id, key: key)
  }

  /// Counts a row. Throws in a cancelled task, which is looked up once for many rows.
  @inline(__always) func countRow() throws {
    count += 1
    if count % 1024 == 0, Task.isCancelled {
      throw CoherenceError(.cancelled, "The task was cancelled during a comparison of records.")
    }
  }

  func take(_ row: Row) throws { try expectation.take(row) }
}
