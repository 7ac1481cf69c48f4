/// A reader that returns the keys of records without their rows.
///
/// Core uses it for fetches of identifiers and of faults. For a reader without the refinement, and where it returns
/// `nil`, Core reads the rows or their values.
public protocol KeyReading: StoreReader {
  /// Returns the keys of the records that a query finds, in its order and range.
  ///
  /// - Returns: `nil` when the store cannot evaluate the predicate and the order exactly.
  /// - Throws: Errors of the store.
  func keys(_ query: StoreQuery) throws -> [Int64]?
}
