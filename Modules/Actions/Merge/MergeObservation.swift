import CoherenceCore

extension ActionContext {
  /// Merges in this context, and reports the merge and its counts to the stack's observer.
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
