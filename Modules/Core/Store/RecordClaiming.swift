/// A store that claims records: it sets values in the first records of a query that no other caller is claiming.
///
/// Claims distribute work over threads and processes, because each caller gets different records. For a store without
/// the refinement, Core reads records and saves the values with a comparison of versions. A caller that loses a race
/// reads again.
public protocol RecordClaiming: PersistentStore {
  /// Sets values in the first records that satisfy the query's predicate, raising their versions, in one transaction.
  ///
  /// A concurrent claim of the same record waits until this claim has ended and then tests the predicate again, or
  /// skips the record.
  ///
  /// - Parameters:
  ///   - query: The predicate, the order and the greatest number of records, without an offset.
  ///   - values: The new value of each slot. The slots are of `query.entity`.
  /// - Returns: The rows with their new values and versions, in the query's order. `nil`, with nothing changed, when
  ///   the store cannot translate the predicate and the order exactly.
  /// - Throws: ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``, ``ErrorCode/uniquenessViolated``; errors of
  ///   the store. Nothing is changed then.
  func claim(_ query: StoreQuery, setting values: [Int: AttributeValue]) throws -> [Row]?
}
