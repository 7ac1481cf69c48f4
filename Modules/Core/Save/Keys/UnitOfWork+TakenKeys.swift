extension UnitOfWork {
  /// Notes, after a save of unknown outcome, that the store may have the inserted records. Their keys stay reserved: the
  /// store refuses a second insert under the same keys.
  func noteUnknownOutcome(after error: any Error) {
    guard (error as? CoherenceError)?.outcome == .unknown else { return }
    for change in inserts where change.record.kind == .inserted { change.record.mayBeStored = true }
  }

  /// The error for a store's refusal of an inserted record that an earlier save, whose outcome was unknown, has stored;
  /// every other error unchanged.
  func explanation(of error: any Error) -> any Error {
    guard var explained = error as? CoherenceError, let refused = recordWithTakenKey(explained), refused.mayBeStored
    else { return error }
    explained.message =
      "The store has the inserted record of '\(refused.entity.name)' already: an earlier save of this context, whose "
      + "outcome was unknown, was applied. Roll the context back, and fetch the records."
    explained.isRetryable = false
    return explained
  }

  /// Releases the reserved keys of inserted records after a store has refused one of the keys, so that the next save
  /// reserves other keys. With the same keys, no further save could succeed.
  ///
  /// A key is taken after another program has inserted records without reserving keys, or after a failure of the disk
  /// has undone the reservation.
  func releaseTakenKeys(after error: any Error) {
    guard let error = error as? CoherenceError, recordWithTakenKey(error) != nil else { return }
    KeyReservation.releaseKeys(of: inserts.map(\.record))
  }

  /// The inserted record whose key a store has refused; `nil` after every other error.
  private func recordWithTakenKey(_ error: CoherenceError) -> PendingRecord? {
    guard error.code == .uniquenessViolated, error.uniqueness == nil, error.outcome == .notApplied else { return nil }
    let refusedIDs = Set(error.objectIDs)
    return inserts.first { refusedIDs.contains($0.id) }?.record
  }
}
