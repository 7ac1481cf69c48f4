import CoherenceCore

extension ActionContext {
  /// Merges in this context, as an operation that the stack's observer is told of: what was done to how many records.
  func performMerge(of entity: EntityDescription, _ merge: () throws -> MergeResult) throws -> MergeResult {
    guard let coordinator = persistentStoreCoordinator else { return try performAndWait(merge) }
    return try coordinator.observed(StackOperation(.merge, entity.name)) {
      try performAndWait(merge)
    } records: { result in
      [
        "inserted": result.inserted, "updated": result.updated, "unchanged": result.unchanged,
        "deleted": result.deleted, "skipped": result.skipped,
      ]
    }
  }
}
