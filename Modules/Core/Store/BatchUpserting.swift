/// A store that inserts rows, or changes the rows that have their unique values, by itself.
///
/// For a store without the refinement, Core reads the rows with the same unique values, and saves the differences.
public protocol BatchUpserting: PersistentStore {
  /// Inserts rows in one transaction. A row whose unique values a stored record of the entity has is not inserted: the
  /// stored record takes the row's values, and its version rises, if one of the compared slots differs.
  ///
  /// - Parameters:
  ///   - rows: Rows of one entity. No two have the same values in the constraint, and none has a missing one.
  ///   - constraint: The slots of a uniqueness constraint.
  ///   - compared: The slots that decide whether a stored record is changed; empty to change none.
  ///   - written: The slots that a changed record takes from the row.
  /// - Returns: The inserted and the changed records, or `nil`, with nothing changed, when the store cannot do it, or when
  ///   a row violates another constraint.
  func upsert(
    _ rows: [Row], of entity: EntityDescription, constraint: [Int], compared: SlotSet, written: SlotSet
  ) throws -> BatchUpsertOutcome?
}

/// The records that a batch insert affected.
public struct BatchUpsertOutcome: Sendable {
  /// The keys of the inserted rows.
  public var inserted: Set<Int64>
  /// The records that took values of rows.
  public var updated: [ManagedObjectID]
  /// Makes an outcome from the inserted keys and the changed records.
  public init(inserted: Set<Int64>, updated: [ManagedObjectID]) {
    self.inserted = inserted
    self.updated = updated
  }
}
