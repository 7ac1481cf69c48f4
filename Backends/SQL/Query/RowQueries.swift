package import CoherenceCore

/// The queries of a store for one row by its key, made once for each hierarchy.
///
/// The store chooses the type of a query: a text in its own form, with the decoder of the row.
package struct RowQueries<Query: Sendable>: Sendable {
  private let queries: [ObjectIdentifier: Query]

  /// Makes the queries for all hierarchies of a planner's schema.
  ///
  /// - Parameter make: Makes a query from a statement, whose only parameter is the key, and the layout of its row.
  package init(of planner: QueryPlanner, _ make: (SQLStatement, RowLayout) -> Query) throws {
    var queries: [ObjectIdentifier: Query] = [:]
    for table in planner.schema.tables {
      // The key is a parameter, for which each run of the query has another value.
      let (statement, layout) = try planner.row(0, of: table.root)
      queries[ObjectIdentifier(table.root)] = make(statement.rendered(by: planner.dialect), layout)
    }
    self.queries = queries
  }

  /// Returns the query for the hierarchy of an entity.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the entity.
  package func query(for entity: EntityDescription) throws -> Query {
    guard let query = queries[ObjectIdentifier(entity.root)] else { throw SQLSchema.missingEntity(entity) }
    return query
  }
}
