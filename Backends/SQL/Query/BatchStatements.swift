package import CoherenceCore

/// Makes the statements of batch requests, over a set of keys that a query selects.
package struct BatchStatements: Sendable {
  private let schema: SQLSchema

  package init(schema: SQLSchema) { self.schema = schema }

  /// The statement that changes the records, and whose rows are their keys.
  ///
  /// - Parameters:
  ///   - keys: A statement that selects keys.
  ///   - values: The new values by slot.
  ///   - arithmetic: The calculations by slot. ``overflows(_:keys:arithmetic:)`` checks their results.
  package func update(
    _ entity: EntityDescription, keys: SQLFragment, values: [Int: AttributeValue],
    arithmetic: [Int: SlotArithmetic] = [:]
  ) throws -> SQLFragment {
    let table = try schema.requireTable(for: entity)
    var set = values.sorted { $0.key < $1.key }.map { slot, value in
      let column = table.column(slot, of: entity)
      return "\(name: column.name) = \(value: value, as: column.storage)" as SQLFragment
    }
    for (slot, arithmetic) in arithmetic.sorted(by: { $0.key < $1.key }) {
      let source = table.column(arithmetic.source, of: entity)
      let sign: SQLFragment = arithmetic.operation == .add ? "+" : "*"
      set.append(
        "\(name: table.column(slot, of: entity).name) = \(name: source.name) \(sign) \(key: arithmetic.operand)")
    }
    set.append("\(name: SQLTable.version) = \(name: SQLTable.version) + 1")
    return """
      UPDATE \(name: table.name) SET \(set.joined(separator: ", ")) \
      WHERE \(name: SQLTable.id) IN (\(keys)) RETURNING \(name: SQLTable.id)
      """
  }

  /// The statement that selects the slot of a calculation whose result would overflow in a record; its result is empty
  /// when no result overflows. `nil` when the columns have no value whose result can overflow.
  ///
  /// The statement has the keys once, because engines limit the values of a statement, and the terms of a union.
  package func overflows(
    _ entity: EntityDescription, keys: SQLFragment, arithmetic: [Int: SlotArithmetic]
  ) throws -> SQLFragment? {
    let table = try schema.requireTable(for: entity)
    let checks = arithmetic.sorted { $0.key < $1.key }.compactMap { slot, arithmetic -> SQLFragment? in
      let column = table.column(arithmetic.source, of: entity)
      let (range, possible) = (arithmetic.range, column.storage.integers)
      var bounds: [SQLFragment] = []
      if range.lowerBound > possible.lowerBound { bounds.append("\(name: column.name) < \(key: range.lowerBound)") }
      if range.upperBound < possible.upperBound { bounds.append("\(name: column.name) > \(key: range.upperBound)") }
      guard !bounds.isEmpty else { return nil }
      return "WHEN \(bounds.joined(separator: " OR ")) THEN \(key: Int64(slot))"
    }
    if checks.isEmpty { return nil }
    let (records, slot): (SQLFragment, SQLFragment) = (.name("$checked"), .column("$slot", of: "$checked"))
    return """
      SELECT \(slot) FROM (SELECT CASE \(checks.joined(separator: " ")) END AS \(name: "$slot") \
      FROM \(name: table.name) WHERE \(name: SQLTable.id) IN (\(keys))) AS \(records) \
      WHERE \(slot) IS NOT NULL LIMIT 1
      """
  }

  /// The statement that changes the records of given keys, and whose rows are their keys.
  package func update(_ entity: EntityDescription, of keys: [Int64], values: [Int: AttributeValue]) throws
    -> SQLFragment
  {
    try update(entity, keys: selection(of: keys, entity), values: values)
  }

  /// The statement that selects the records of given keys.
  package func selection(of keys: [Int64], _ entity: EntityDescription) throws -> SQLFragment {
    let table = try schema.requireTable(for: entity)
    return "SELECT \(name: SQLTable.id) FROM \(name: table.name) WHERE \(name: SQLTable.id) \(keys: keys)"
  }

  /// The statement that deletes records, and whose rows are their keys. The foreign keys of the link tables delete the
  /// links of the records too.
  package func delete(_ entity: EntityDescription, keys: SQLFragment) throws -> SQLFragment {
    let table = try schema.requireTable(for: entity)
    return "DELETE FROM \(name: table.name) WHERE \(name: SQLTable.id) IN (\(keys)) RETURNING \(name: SQLTable.id)"
  }

  /// The statements that clear left-out references to the records. Run before the records are deleted. References that
  /// retain their targets stay, so that their foreign keys refuse the delete.
  package func clearLeftOutReferences(to entity: EntityDescription, keys: SQLFragment) -> [SQLFragment] {
    schema.leftOutReferences(to: entity).filter { !$0.retainsTarget }.map {
      "UPDATE \(name: $0.table) SET \($0.clearingAssignments) WHERE \(name: $0.column) IN (\(keys))"
    }
  }

  /// The statements that clear references to the records, one for each table with to-one relationships that lead to the
  /// hierarchy. A statement also clears the positions, and returns the keys of the changed records of its `root`. A
  /// record that loses several references is changed once.
  package func clearReferences(to root: EntityDescription, keys: SQLFragment) -> [(
    root: EntityDescription, statement: SQLFragment
  )] {
    schema.tables.compactMap { table in
      let references = table.references(to: root)
      guard !references.isEmpty else { return nil }
      var set = references.flatMap { reference in
        [reference, table.positionColumn(of: reference)].compactMap { $0 }.map { column -> SQLFragment in
          """
          \(name: column.name) = CASE WHEN \(name: reference.name) IN (\(keys)) \
          THEN NULL ELSE \(name: column.name) END
          """
        }
      }
      set.append("\(name: SQLTable.version) = \(name: SQLTable.version) + 1")
      let isReferring = references.map { "\(name: $0.name) IN (\(keys))" as SQLFragment }
      return (
        table.root,
        """
        UPDATE \(name: table.name) SET \(set.joined(separator: ", ")) \
        WHERE \(isReferring.joinedInGroups(by: " OR ")) RETURNING \(name: SQLTable.id)
        """
      )
    }
  }
}

extension BatchDeleteOutcome {
  /// Makes an outcome from the keys that the statements returned.
  ///
  /// - Parameters:
  ///   - deletedKeys: The keys of the deleted records.
  ///   - clearedKeys: The keys of the records whose references were cleared, for each statement of
  ///     ``BatchStatements/clearReferences(to:keys:)``. A record that was deleted too counts as deleted only.
  package init(
    deleting deletedKeys: [Int64], of entity: EntityDescription,
    clearing clearedKeys: [(root: EntityDescription, keys: [Int64])], in spaces: IDSpaces
  ) {
    func ids(_ keys: [Int64], of entity: EntityDescription) -> [ManagedObjectID] {
      let space = spaces[entity]
      return keys.map { ManagedObjectID(space: space, key: $0) }
    }
    let deleted = ids(deletedKeys.sorted(), of: entity)
    var updated: Set<ManagedObjectID> = []
    for (root, keys) in clearedKeys { updated.formUnion(ids(keys, of: root)) }
    updated.subtract(deleted)
    self.init(deleted: deleted, updated: updated.sorted { $0.key < $1.key })
  }
}

extension StorageType {
  /// The integers that a column can have.
  fileprivate var integers: ClosedRange<Int64> {
    switch self {
    case .int16: Int64(Int16.min)...Int64(Int16.max)
    case .int32: Int64(Int32.min)...Int64(Int32.max)
    default: .min ... .max
    }
  }
}

extension SQLTable {
  /// The columns of to-one relationships that lead to a hierarchy.
  package func references(to root: EntityDescription) -> [SQLColumn] {
    columns.filter { column in
      guard case .reference(let relationship) = column.slot else { return false }
      return relationship.destination.root === root
    }
  }

  /// The column for a record's position among the members of the target of a reference.
  fileprivate func positionColumn(of reference: SQLColumn) -> SQLColumn? {
    guard case .reference(let relationship) = reference.slot else { return nil }
    return columns.first {
      if case .position(let owner) = $0.slot { return owner === relationship }
      return false
    }
  }
}
