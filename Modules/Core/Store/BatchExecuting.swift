/// A store that executes batch updates and deletes itself, without returning rows.
///
/// For a store without the refinement, Core fetches the records and saves the changes.
public protocol BatchExecuting: PersistentStore {
  /// Changes the records that satisfy the query's predicate, raising their versions, in one transaction.
  ///
  /// - Parameter values: The new value of each slot. The slots are of `query.entity`.
  /// - Returns: The identifiers of the changed records, or `nil`, with nothing changed, when the store cannot translate
  ///   the predicate exactly.
  func batchUpdate(_ query: StoreQuery, values: [Int: AttributeValue]) throws -> [ManagedObjectID]?

  /// Deletes the records that satisfy the query's predicate, and their links, in one transaction. References of other
  /// records to them are cleared, and those records' versions raised.
  ///
  /// - Returns: The deleted and the changed records, or `nil`, with nothing changed, when the store cannot translate
  ///   the predicate exactly.
  func batchDelete(_ query: StoreQuery) throws -> BatchDeleteOutcome?
}

/// The records that a batch delete affected.
public struct BatchDeleteOutcome: Sendable {
  /// The deleted records.
  public var deleted: [ManagedObjectID]
  /// The records whose references were cleared.
  public var updated: [ManagedObjectID]
  public init(deleted: [ManagedObjectID], updated: [ManagedObjectID] = []) {
    self.deleted = deleted
    self.updated = updated
  }
}
