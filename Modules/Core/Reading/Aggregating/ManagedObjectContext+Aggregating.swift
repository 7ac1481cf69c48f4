// Rows computed from groups of records, without objects.

extension ManagedObjectContext {
  /// Returns the rows of an aggregate request: for each group of records, the values of its columns by name.
  ///
  /// The grouped records are the records that ``fetch(_:)`` finds for the request, in its range and with unsaved
  /// changes. The results are the same on every store; see ``AggregateFunction`` for missing values, overflow and
  /// rounding. Rows are in the request's order, and equal rows in the order of the group keys.
  ///
  /// To be called inside the context; the call waits for the store.
  ///
  /// Cost: an ``Aggregating`` store computes the rows with one statement and returns no records. The context combines
  /// the groups of several stores, and of records with unsaved changes. It reads the records itself for a predicate,
  /// key or value that the store cannot evaluate exactly, for distinct values over several stores, for values of other
  /// records with unsaved changes, and for a range of records.
  ///
  /// - Throws: As ``fetch(_:)``; ``ErrorCode/invalidFetchRequest`` for a function without a meaning for the values, for
  ///   a property outside of the group keys, and for two columns of one name; ``ErrorCode/arithmeticOverflow`` for a
  ///   sum that its type cannot hold.
  public final func fetchDictionaries<Result: ManagedObject>(
    _ request: AggregateRequest<Result>
  ) throws -> [[String: AttributeValue]] {
    let names = request.propertiesToFetch.map(\.name)
    if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw CoherenceError(
        .invalidFetchRequest, "Two columns of the aggregate request are named '\(name)'; give one another name.")
    }
    let rows = try aggregate(request)
    return (0..<rows.count).map { row in
      var values: [String: AttributeValue] = [:]
      for (column, name) in names.enumerated() { values[name] = rows.values[row * rows.width + column] }
      return values
    }
  }

  /// Returns the rows of a grouped request, as tuples of its columns' values.
  ///
  /// Like ``fetchDictionaries(_:)``, with the types of the columns. The rows may be passed to any thread.
  ///
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func fetchRows<Root: DeclaredEntity, each Value: Sendable>(
    _ request: GroupedRequest<Root, repeat each Value>
  ) throws -> [(repeat each Value)] {
    let rows = try aggregate(request.request)
    var result: [(repeat each Value)] = []
    result.reserveCapacity(rows.count)
    let values = AggregateRowReader(rows)
    for _ in 0..<rows.count { result.append((repeat (each request.readers).read(values.next()))) }
    return result
  }

  /// The rows of an aggregate request.
  final func aggregate<Result: ManagedObject>(_ request: AggregateRequest<Result>) throws -> AggregateRows {
    try operating {
      try measured(StackOperation(.fetch, name(of: request.records)), ifFailed: .fetch(records: 0)) {
        try reading(request.records) { fetch in
          let unsaved = request.records.includesPendingChanges ? UnsavedHierarchies(in: self) : UnsavedHierarchies()
          let plan = try AggregatePlan(request, fetch, current: current, unsaved: unsaved)
          return try AggregateExecution(plan, in: self).run()
        }
      } as: {
        .fetch(records: $0.count)
      }
    }
  }
}

/// Reads the values of rows one after the other.
private final class AggregateRowReader {
  private let rows: AggregateRows
  private var index = 0

  init(_ rows: AggregateRows) { self.rows = rows }

  func next() -> AttributeValue {
    defer { index += 1 }
    return rows.values[index]
  }
}
