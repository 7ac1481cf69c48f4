/// A store that inserts rows and, in place of duplicates, updates the stored rows with the same unique values.
///
/// For a store without the refinement, Core reads the rows with the same unique values, and saves the differences.
public protocol BatchUpserting: PersistentStore {
  /// Inserts rows in one transaction. If a stored record of the entity has the unique values of a row, the row is not
  /// inserted. If one of the compared slots differs, the stored record gets the row's values and a raised version.
  ///
  /// - Parameters:
  ///   - rows: Rows of one entity, without missing values in the constraint, and without two rows of the same values in
  ///     it.
  ///   - constraint: The slots of a uniqueness constraint.
  ///   - compared: The slots that decide whether a stored record is changed; empty to change none.
  ///   - written: The slots that a changed record gets from the row.
  /// - Returns: The inserted and the changed records. `nil`, without a change, when the store does not support the
  ///   request, or when a row violates another constraint.
  func upsert(
    _ rows: [Row], of entity: EntityDescription, constraint: [Int], compared: SlotSet, written: SlotSet
  ) throws -> BatchUpsertOutcome?
}

/// The records that a batch insert affected.
public struct BatchUpsertOutcome: Sendable {
  /// The keys of the inserted rows.
  public var inserted: Set<Int64>
  /// The records changed to the values of rows.
  public var updated: [ManagedObjectID]
  /// Makes an outcome from the inserted keys and the changed records.
  public init(inserted: Set<Int64>, updated: [ManagedObjectID]) {
    self.inserted = inserted
    self.updated = updated
  }
}
