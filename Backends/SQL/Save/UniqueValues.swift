package import CoherenceCore

/// The values of a refused row in a unique index, to find the other record with the same values.
package struct UniqueValues {
  private let row: Row
  private let table: SQLTable
  private let index: SQLIndex
  private let columnValues: [(column: SQLColumn, value: AttributeValue)]

  /// Returns `nil` if the index is not unique, does not include the row, or does not compare it because a value is
  /// missing.
  package init?(of row: Row, in index: SQLIndex, of table: SQLTable) {
    guard index.isUnique, index.entities?.contains(table.recordName(of: row.entity)) != false else { return nil }
    self.row = row
    self.table = table
    self.index = index
    columnValues = index.columnValues(of: row, in: table)
    if columnValues.contains(where: \.value.isNull) { return nil }
  }

  /// The query for the key of the stored record with the values.
  package var holder: SQLFragment {
    var conditions: [SQLFragment] = columnValues.map {
      "\(name: $0.column.name) = \(value: $0.value, as: $0.column.storage)"
    }
    conditions.append("\(name: SQLTable.id) <> \(key: row.key)")
    if let entities = index.entities {
      conditions.append("\(name: SQLTable.entity) \(list: entities.map(AttributeValue.string), as: .string)")
    }
    return "SELECT \(name: SQLTable.id) FROM \(name: table.name) WHERE \(conditions.joined(separator: " AND ")) LIMIT 1"
  }

  /// The other record of the same save with the values; `nil` for none.
  private func conflictingRecord(in request: StoreSaveRequest) -> ManagedObjectID? {
    for step in request.steps {
      let rows: [Row] =
        switch step {
        case .insert(_, let rows): rows
        case .update(_, _, let updates): updates.map(\.row)
        case .unlink, .fix, .delete, .link: []
        }
      if let conflictingRecord = rows.first(where: isEqual) { return conflictingRecord.id }
    }
    return nil
  }

  private func isEqual(_ other: Row) -> Bool {
    other.id != row.id && other.entity.root === row.entity.root
      && index.entities?.contains(table.recordName(of: other.entity)) != false
      && index.columnValues(of: other, in: table).map(\.value) == columnValues.map(\.value)
  }

  /// The error of a save that would make two records equal.
  ///
  /// - Parameter holder: The key of the stored record with the values.
  package func violation(in request: StoreSaveRequest, holder: Int64?) -> CoherenceError {
    let violation = UniquenessViolation(
      entityName: row.entity.name, propertyNames: columnValues.map(\.column.slot.name),
      values: columnValues.map(\.value))
    let other = conflictingRecord(in: request) ?? holder.map { ManagedObjectID(space: row.id.space, key: $0) }
    return .uniquenessViolated(violation, [row.id] + [other].compactMap { $0 })
  }
}

extension SQLIndex {
  /// The columns of the index with a row's values.
  fileprivate func columnValues(of row: Row, in table: SQLTable) -> [(column: SQLColumn, value: AttributeValue)] {
    let positions = table.positions(of: row.entity)
    return columns.compactMap { name in
      guard let slot = positions.firstIndex(where: { table.columns[$0].name == name }) else { return nil }
      return (table.columns[positions[slot]], row[slot])
    }
  }
}
