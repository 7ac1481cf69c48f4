import CoherenceCore

/// The statements of batch requests, over a set of keys that a query selects.
package struct BatchStatements: Sendable {
  private let schema: SQLSchema

  package init(schema: SQLSchema) { self.schema = schema }

  /// Changes the records and answers their keys.
  ///
  /// - Parameter keys: A statement that selects keys.
  package func update(_ entity: EntityDescription, keys: SQLFragment, values: [Int: AttributeValue]) throws
    -> SQLFragment
  {
    let table = try schema.requireTable(for: entity)
    var set = values.sorted { $0.key < $1.key }.map { slot, value in
      let column = table.column(slot, of: entity)
      return "\(name: column.name) = \(value: value, as: column.storage)" as SQLFragment
    }
    set.append("\(name: SQLTable.version) = \(name: SQLTable.version) + 1")
    return """
      UPDATE \(name: table.name) SET \(set.joined(separator: ", ")) \
      WHERE \(name: SQLTable.id) IN (\(keys)) RETURNING \(name: SQLTable.id)
      """
  }

  /// Removes records and answers their keys. Links go with them.
  package func delete(_ entity: EntityDescription, keys: SQLFragment) throws -> SQLFragment {
    let table = try schema.requireTable(for: entity)
    return "DELETE FROM \(name: table.name) WHERE \(name: SQLTable.id) IN (\(keys)) RETURNING \(name: SQLTable.id)"
  }

  /// For each to-one relationship that leads to the hierarchy: clears the references to the records, with their places
  /// in order, and answers the keys of the records changed, which are of `root`.
  package func clearReferences(to root: EntityDescription, keys: SQLFragment) -> [(
    root: EntityDescription, statement: SQLFragment
  )] {
    schema.tables.flatMap { table in
      table.columns.compactMap { column in
        guard case .reference(let relationship) = column.slot, relationship.destination.root === root else {
          return nil
        }
        let place = table.columns.first {
          if case .position(let owner) = $0.slot { return owner === relationship }
          return false
        }
        var set = [column, place].compactMap { $0 }.map { "\(name: $0.name) = NULL" as SQLFragment }
        set.append("\(name: SQLTable.version) = \(name: SQLTable.version) + 1")
        return (
          table.root,
          """
          UPDATE \(name: table.name) SET \(set.joined(separator: ", ")) \
          WHERE \(name: column.name) IN (\(keys)) RETURNING \(name: SQLTable.id)
          """
        )
      }
    }
  }
}
