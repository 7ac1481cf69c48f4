import CoherenceCore
import HashTreeCollections

extension InMemoryState {
  /// The rows that a query asks for, in its order, its limit and offset applied.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store was opened without the entity; ``ErrorCode/invalidPredicate``,
  ///   ``ErrorCode/invalidFetchRequest`` and ``ErrorCode/unknownProperty`` for a predicate or an order that does not fit
  ///   the entity; ``ErrorCode/cancelled``.
  func rows(for query: StoreQuery) throws -> [Row] {
    let matching = try matchingRows(for: query)
    guard !query.sortKeys.isEmpty else {
      return Array(query.range(of: matching.sorted(prefix: query.rangeEnd) { $0.key < $1.key }))
    }
    return try sorted(matching, for: query)
  }

  /// The rows of a query's range, in its order.
  func sorted(_ rows: [Row], for query: StoreQuery) throws -> [Row] {
    let order = try PreparedOrder(query.sortKeys, for: query.entity)
    let records = InMemoryRecords(self)
    let decorated = try rows.map { (values: try order.sortValues(of: $0, in: records), row: $0) }
    let ordered = decorated.sorted(prefix: query.rangeEnd) { left, right in
      let difference = order.order(left.values, right.values)
      return difference == 0 ? left.row.key < right.row.key : difference < 0
    }
    return query.range(of: ordered).map(\.row)
  }

  /// The number of records that a query asks for, its limit and offset applied.
  func count(of query: StoreQuery) throws -> Int {
    let isWholeTable = query.predicate == nil && query.includesSubentities && query.entity.superentity == nil
    let total = isWholeTable ? try table(of: query.entity).count : try matchingRows(for: query).count
    return query.range(of: 0..<total).count
  }

  /// The rows of the query's entities that satisfy its predicate, in no order.
  private func matchingRows(for query: StoreQuery) throws -> [Row] {
    var found: [Row] = []
    try forEachRow(of: query) { found.append($0) }
    return found
  }

  /// Calls a block with each row of the query's entities that satisfies its predicate, in no order.
  func forEachRow(of query: StoreQuery, _ body: (Row) throws -> Void) throws {
    let table = try table(of: query.entity)
    let predicate = try query.predicate.map { try PreparedPredicate($0, for: query.entity) }
    if let keys = candidates(for: query) {
      try visit(keys.lazy.compactMap { table[$0] }, entities: query.entities, predicate: predicate, body)
    } else {
      try visit(table.values, entities: query.entities, predicate: predicate, body)
    }
  }

  /// The rows of the entities that satisfy a predicate.
  func filter(
    _ rows: some Sequence<Row>, entities: [EntityDescription], predicate: PreparedPredicate?
  ) throws -> [Row] {
    var found: [Row] = []
    try visit(rows, entities: entities, predicate: predicate) { found.append($0) }
    return found
  }

  /// Calls a block with each row of the entities that satisfies a predicate. The cancellation of the task ends a long
  /// visit: a check follows every 1,024 rows, so that its cost does not show.
  private func visit(
    _ rows: some Sequence<Row>, entities: [EntityDescription], predicate: PreparedPredicate?,
    _ body: (Row) throws -> Void
  ) throws {
    let records = InMemoryRecords(self)
    var visited = 0
    for row in rows {
      visited += 1
      if visited % 1024 == 0, Task.isCancelled {
        throw CoherenceError(.cancelled, "The fetch was given up because its task was cancelled.")
      }
      guard entities.contains(where: { $0 === row.entity }) else { continue }
      if try predicate?.matches(row, in: records) ?? true { try body(row) }
    }
  }
}

extension Array {
  /// The first elements in an order, up to a length or further; all elements if the length is `nil`.
  ///
  /// A short prefix is selected without a sort of all elements: the array of candidates is sorted and cut to the length
  /// whenever it has twice the length. An element behind the last element of the cut array is no candidate.
  func sorted(prefix length: Int?, by precedes: (Element, Element) -> Bool) -> [Element] {
    guard let length, length < count / 4 else { return sorted(by: precedes) }
    guard length > 0 else { return [] }
    var candidates: [Element] = []
    var last: Element?
    for element in self {
      if let last, !precedes(element, last) { continue }
      candidates.append(element)
      guard candidates.count == 2 * length else { continue }
      candidates.sort(by: precedes)
      candidates.removeLast(length)
      last = candidates.last
    }
    return Array(candidates.sorted(by: precedes).prefix(length))
  }
}

extension StoreQuery {
  /// The index behind the last row of the range; `nil` without a limit, and if the index is no `Int`.
  var rangeEnd: Int? {
    guard let limit else { return nil }
    let (end, overflows) = max(offset, 0).addingReportingOverflow(max(limit, 0))
    return overflows ? nil : end
  }

  /// The part of a result that offset and limit leave.
  func range<Rows: RandomAccessCollection>(of rows: Rows) -> Rows.SubSequence {
    rows.dropFirst(max(offset, 0)).prefix(limit.map { max($0, 0) } ?? Int.max)
  }
}
