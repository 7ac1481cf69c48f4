/// The outcomes of a batch request over several stores.
struct BatchOutcomes {
  private var outcomes: [StoreIdentifier: SaveOutcome] = [:]
  private var failure: (any Error)?

  /// Runs the request in one store after the other, up to the first failure.
  init(in stores: [any PersistentStore], _ run: (any PersistentStore) throws -> Void) {
    for store in stores {
      outcomes[store.identifier] = .notApplied
      guard failure == nil else { continue }
      do {
        try run(store)
        outcomes[store.identifier] = .applied
      } catch {
        failure = error
        if let error = error as? CoherenceError { outcomes[store.identifier] = error.outcome }
      }
    }
  }

  /// The error of the request, which the caller throws after it has published the changes of the earlier stores; `nil`
  /// without a failure. With changes, the error is an ``ErrorCode/partialSave`` with the outcome in each store.
  ///
  /// - Parameter hasChanges: Whether the earlier stores have changed records.
  func failure(hasChanges: Bool) -> (any Error)? {
    guard hasChanges, let failure else { return failure }
    let error =
      failure as? CoherenceError ?? CoherenceError(.inputOutput, "The store failed to save.", underlying: failure)
    var partial = CoherenceError(
      .partialSave,
      "The batch request has changed some stores and one failed: \(error.message) Mend the cause, and repeat the request "
        + "for the records of the stores that are not changed.", underlying: error, outcome: error.outcome)
    partial.outcomes = outcomes
    partial.objectIDs = error.objectIDs
    return partial
  }
}
