package import CoherenceCore

/// The statement of an aggregate query, the columns of its rows, and the parts of the query that the statement covers
/// exactly.
package struct GroupPlan: Sendable {
  /// A column of the statement.
  package struct Column: Sendable {
    package let storage: StorageType
    /// The space of the keys in a column of references; `nil` for another column.
    package let space: IDSpace?
    /// Whether the column is a sum, which may be out of the range of its type: a sum of the records, a sum of members
    /// as a group key, or the least or greatest of such sums.
    package let isSum: Bool
  }

  package var statement: SQLFragment
  /// The group keys, then the aggregates.
  package var columns: [Column]
  package var isHavingExact: Bool
  package var isOrderExact: Bool
  package var isRangeExact: Bool

  /// The groups with the values of the statement's rows.
  package func groups(_ values: [AttributeValue]) -> StoreGroups {
    StoreGroups(
      values: values, isHavingExact: isHavingExact, isOrderExact: isOrderExact, isRangeExact: isRangeExact)
  }

  /// Returns the error for a cell whose value does not have the column's type.
  package func wrongValue(at column: Int) -> CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "Column \(column) of a statement about groups has a value that is no \(columns[column].storage). Restore the "
        + "store from a backup.")
  }
}
