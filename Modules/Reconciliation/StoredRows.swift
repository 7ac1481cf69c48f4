package import CoherenceCore

/// The rows of one entity and its subentities, read by key: some hundred keys at once, or all rows in one pass,
/// whichever is less work. Unsaved changes of the context count, as in its fetches.
package struct StoredRows {
  /// The largest number of keys, identifiers or owners in one query.
  package static let chunkSize = 500
  /// Reading this many rows in one pass costs as much as one lookup by an index.
  private static let rowsPerLookup = 4

  package let context: ManagedObjectContext
  package let entity: EntityDescription
  package let keyAttributes: [AttributeDescription]
  let checkCancellation: (() throws -> Void)?

  /// - Parameter checkCancellation: Throws when the caller's work was cancelled. Called before each chunk of keys or
  ///   identifiers, and by a ``RowScan`` every 256 rows, beside the context's own check for a cancelled task.
  package init(
    _ entity: EntityDescription, keyAttributes: [AttributeDescription], in context: ManagedObjectContext,
    checkCancellation: (() throws -> Void)? = nil
  ) {
    self.entity = entity
    self.keyAttributes = keyAttributes
    self.context = context
    self.checkCancellation = checkCancellation
  }

  /// Splits a list into ranges for one query each.
  package static func chunks(of count: Int) -> [Range<Int>] {
    stride(from: 0, to: count, by: chunkSize).map { $0..<min($0 + chunkSize, count) }
  }

  /// Makes a request for the rows that satisfy a predicate; `nil` for all rows.
  package func request<R: ManagedObject>(_ type: R.Type, where predicate: FetchPredicate?) -> FetchRequest<R> {
    var request = FetchRequest<R>(entityName: entity.name)
    request.predicate = predicate
    return request
  }

  // MARK: Reading by key

  /// Calls a block with predicates that together match every row with one of the keys, and possibly other rows. A `nil`
  /// predicate stands for all rows.
  package func forEachPredicate(matching keys: KeyColumns, _ body: (FetchPredicate?) throws -> Void) throws {
    guard keys.count > 0 else { return }
    if try isFullPassCheaper(keys.count) { return try body(nil) }
    let keys = keys.ordered()
    for chunk in Self.chunks(of: keys.count) {
      try checkCancellation?()
      try body(predicate(keys, chunk))
    }
  }

  /// Makes the predicate of a chunk of keys. With several key attributes, the predicate also matches rows that combine
  /// values of different keys.
  private func predicate(_ keys: KeyColumns, _ chunk: Range<Int>) -> FetchPredicate {
    let parts = zip(keyAttributes, keys.columns).map { attribute, column in
      // One value may belong to many keys of several attributes.
      let values = keyAttributes.count == 1 ? Array(column[chunk]) : Array(Set(column[chunk]))
      return FetchPredicate.membership(.path(PropertyPath(names: [attribute.name])), in: values)
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  /// Whether one pass over all rows costs less than one query for each chunk of keys. A single chunk is one query
  /// anyway.
  private func isFullPassCheaper(_ keyCount: Int) throws -> Bool {
    if keyCount <= Self.chunkSize { return false }
    guard isIndexed else { return true }
    return try context.count(for: request(ManagedObject.self, where: nil)) <= keyCount * Self.rowsPerLookup
  }

  /// Whether the stores find rows by key without reading all of them.
  private var isIndexed: Bool {
    (entity.uniquenessConstraints + entity.indexes).contains { properties in
      properties.first.map { first in keyAttributes.contains { $0 === first } } == true
    }
  }

  // MARK: Comparing

  /// Passes the rows that satisfy a predicate to an expectation, without making objects; `nil` for all rows.
  package func compare(where predicate: FetchPredicate?, with expectation: any RowExpectation) throws {
    try context.compare(request(ManagedObject.self, where: predicate), with: expectation)
  }

  /// Passes the rows with one of the keys, and possibly other rows, to an expectation.
  ///
  /// - Parameter condition: Rows that do not satisfy the condition are not passed.
  package func compare(
    _ keys: KeyColumns, and condition: FetchPredicate? = nil, with expectation: any RowExpectation
  ) throws {
    try forEachPredicate(matching: keys) { predicate in
      try compare(
        where: predicate.map { byKey in condition.map { .and([byKey, $0]) } ?? byKey } ?? condition, with: expectation)
    }
  }

  /// Returns the identifiers of the records, among the given ones, that satisfy a predicate.
  package func ids(
    among ids: [ManagedObjectID], satisfying predicate: FetchPredicate
  ) throws -> Set<ManagedObjectID> {
    let collector = IDCollector()
    for chunk in Self.chunks(of: ids.count) {
      try checkCancellation?()
      let isGiven = FetchPredicate.membership(.path(.own), in: ids[chunk].map(AttributeValue.reference))
      try compare(where: .and([isGiven, predicate]), with: collector)
    }
    return collector.ids
  }
}

/// Collects the identifiers of all rows.
private final class IDCollector: RowExpectation {
  private(set) var ids: Set<ManagedObjectID> = []
  var keySlots: [Int] { [] }
  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    ids.insert(id)
    return .skip
  }

  func take(_ row: Row) {}
}
