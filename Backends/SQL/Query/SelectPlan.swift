package import CoherenceCore

/// The SELECT statement of a fetch, the layout of its rows, and the parts of the query that the statement covers
/// exactly.
package struct SelectPlan: Sendable {
  package var statement: SQLFragment
  package var layout: RowLayout
  /// Whether the statement returns exactly the matching rows. Otherwise it returns more, never fewer.
  package var isPredicateExact: Bool
  /// Whether the rows come in the query's order, ties by ascending key.
  package var isOrderExact: Bool
  /// Whether the statement applies the query's limit and offset.
  package var isRangeExact: Bool

  /// Whether the statement returns exactly the rows of the query.
  package var isExact: Bool { isPredicateExact && isOrderExact && isRangeExact }

  /// The fetch whose rows a cursor reads from the statement.
  package func fetch(_ cursor: any RowCursor) -> StoreFetch {
    StoreFetch(
      isPredicateExact: isPredicateExact, isOrderExact: isOrderExact, isRangeExact: isRangeExact, cursor: cursor)
  }
}
