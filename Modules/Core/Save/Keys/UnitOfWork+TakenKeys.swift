extension UnitOfWork {
  /// Releases the reserved keys of inserted records after a store has refused one of the keys, so that the next save
  /// reserves other keys. With the same keys, no further save could succeed.
  ///
  /// A key is taken after another program has inserted records without reserving keys, or after a failure of the disk
  /// has undone the reservation. A record with an obtained permanent identifier keeps its key.
  func releaseTakenKeys(after error: any Error) {
    guard let error = error as? CoherenceError, error.code == .uniquenessViolated, error.uniqueness == nil,
      error.outcome == .notApplied
    else { return }
    let refusedIDs = Set(error.objectIDs)
    let inserts = inserts
    guard inserts.contains(where: { refusedIDs.contains($0.id) }) else { return }
    for change in inserts where change.record.kind == .inserted && change.record.id.isTemporaryID {
      change.record.reservedID = nil
    }
  }
}
