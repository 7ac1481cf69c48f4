/// A uniqueness constraint by which a batch insert finds duplicates.
struct BatchConstraint {
  private let attributes: [AttributeDescription]
  private let entity: EntityDescription
  /// The entity that declares the constraint: no two of its records have the same values.
  private let declaring: EntityDescription
  /// The slots of the constraint's attributes, in the order of the constraint.
  var slots: [Int] { attributes.map(\.slot) }

  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/invalidFetchRequest`` for attributes without a constraint.
  init(_ names: [String], of entity: EntityDescription) throws {
    let wanted = Set(try names.map { try entity.property(named: $0) })
    guard
      let constraint = entity.uniquenessConstraints.first(where: { Set($0) == wanted }),
      let attributes = constraint as? [AttributeDescription]
    else {
      throw CoherenceError(
        .invalidFetchRequest,
        "'\(entity.name)' has no uniqueness constraint over \(names.map { "'\($0)'" }.joined(separator: ", ")); name the "
          + "attributes of a constraint of the model.")
    }
    self.attributes = attributes
    self.entity = entity
    var declaring = entity
    while let parent = declaring.superentity, parent.uniquenessConstraints.contains(constraint) { declaring = parent }
    self.declaring = declaring
  }

  /// The values of a row in the constraint; `nil` for a row with a missing value, which is equal to no other row.
  func key(of row: Row) -> [AttributeValue]? { key { row[$0] } }

  private func key(_ value: (Int) -> AttributeValue) -> [AttributeValue]? {
    let values = slots.map(value)
    return values.contains(where: \.isNull) ? nil : values
  }

  /// Returns one row for each set of equal constraint values: the first row, or the last row at the index of the first.
  /// Rows with a missing value all remain.
  func unique(_ rows: [[AttributeValue]], keepsLast: Bool) -> [[AttributeValue]] {
    // The index in the result of the row with each set of constraint values.
    var seen: [[AttributeValue]: Int] = [:]
    var result: [[AttributeValue]] = []
    for row in rows {
      let values = key { row[$0] }
      if let values, let index = seen[values] {
        if keepsLast { result[index] = row }
        continue
      }
      if let values { seen[values] = result.count }
      result.append(row)
    }
    return result
  }

  /// The greatest number of keys in one query. Beyond some thousands of values, a store may leave the condition out and
  /// return all records.
  private static let keysInOneRead = 1_000

  /// Reads the stored rows with the constraint values of rows to insert, by these values. The rows may be of any entity
  /// that inherits the constraint.
  ///
  /// - Throws: Errors of the store.
  func storedRows(for rows: [Row], by fallback: BatchFallback) throws -> [[AttributeValue]: Row] {
    var found: [[AttributeValue]: Row] = [:]
    let keys = ordered(rows.compactMap(key))
    for start in stride(from: 0, to: keys.count, by: Self.keysInOneRead) {
      let keysOfRead = keys[start..<min(start + Self.keysInOneRead, keys.count)]
      let conditions = attributes.enumerated().map { index, attribute in
        FetchPredicate.membership(
          .path(PropertyPath(names: [attribute.name])), in: Array(Set(keysOfRead.map { $0[index] })))
      }
      let wanted = Set(keysOfRead)
      // With several attributes, the conditions also match rows that combine values of different wanted rows.
      for row in try fallback.rows(of: StoreQuery(entity: declaring, predicate: .and(conditions))) {
        if let key = key(of: row), wanted.contains(key) { found[key] = row }
      }
    }
    return found
  }

  /// Returns keys in the order of their values. The keys of one read then share values of the first attributes, so that
  /// the conditions on the attributes match few further rows. In any other order they may match all rows of the entity.
  private func ordered(_ keys: [[AttributeValue]]) -> [[AttributeValue]] {
    guard attributes.count > 1 else { return keys }
    return keys.sorted { left, right in
      for (value, other) in zip(left, right) {
        let order = value.order(to: other)
        if order != 0 { return order < 0 }
      }
      return false
    }
  }

  /// The error for a row with the constraint values of a record of another entity.
  func violation(of row: Row, _ stored: Row) -> CoherenceError {
    let names = attributes.map { "'\($0.name)'" }.joined(separator: ", ")
    var error = CoherenceError(
      .uniquenessViolated,
      "A record of '\(stored.entity.name)' has the values of a new record of '\(entity.name)' in \(names); a batch insert "
        + "changes records of its own entity only.")
    error.objectIDs = [row.id, stored.id]
    return error
  }
}
