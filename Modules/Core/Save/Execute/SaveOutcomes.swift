/// The outcomes of a save, store by store.
struct SaveOutcomes {
  private let units: [StoreUnit]
  private var applied: Set<StoreIdentifier> = []

  /// - Parameter units: The units of the save, none of them committed so far.
  init(of units: [StoreUnit]) { self.units = units }

  mutating func noteCommit(in store: any PersistentStore) { applied.insert(store.identifier) }

  /// The error that the save throws when one store fails: the store's error with the outcome of every store;
  /// ``ErrorCode/partialSave`` when another store has committed before.
  func failure(_ error: any Error, of store: any PersistentStore) -> any Error {
    var result =
      error as? CoherenceError ?? CoherenceError(.inputOutput, "The store failed to save.", underlying: error)
    result.objectIDs = presentIDs(result.objectIDs)
    var outcomes = Dictionary(
      uniqueKeysWithValues: units.map { unit in
        (unit.store.identifier, applied.contains(unit.store.identifier) ? SaveOutcome.applied : .notApplied)
      })
    outcomes[store.identifier] = result.outcome
    guard applied.isEmpty else { return Self.partial(result, outcomes) }
    result.outcomes = outcomes
    return result
  }

  /// The error that a save throws when its last attempt fails after stores have committed in an earlier attempt.
  ///
  /// - Parameter earlier: The error of the earlier attempts: a ``ErrorCode/partialSave``.
  static func failure(_ error: any Error, after earlier: CoherenceError) -> any Error {
    let last = error as? CoherenceError ?? CoherenceError(.inputOutput, "The save failed.", underlying: error)
    let isPartial = last.code == .partialSave
    var outcomes = earlier.outcomes.merging(last.outcomes) { $1 }
    for (store, outcome) in earlier.outcomes where outcome == .applied { outcomes[store] = outcome }
    return partial(isPartial ? last.underlying as? CoherenceError ?? last : last, outcomes)
  }

  /// The error of a save that some stores have committed.
  ///
  /// - Parameter cause: The error of the store that failed.
  private static func partial(
    _ cause: CoherenceError, _ outcomes: [StoreIdentifier: SaveOutcome]
  ) -> CoherenceError {
    var partial = CoherenceError(
      .partialSave,
      "Some stores were saved and one failed: \(cause.message) Objects of the saved stores are clean; "
        + "mend the cause and save again.", underlying: cause, isRetryable: cause.isRetryable)
    partial.outcome = cause.outcome
    partial.outcomes = outcomes
    partial.objectIDs = cause.objectIDs
    return partial
  }

  /// The present identifiers of records, in place of the permanent identifiers that the failed save would have given
  /// them.
  private func presentIDs(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    let wanted = Set(ids)
    var present: [ManagedObjectID: ManagedObjectID] = [:]
    for unit in units {
      for change in unit.unit.changes where wanted.contains(change.id) { present[change.id] = change.record.id }
    }
    return ids.map { present[$0] ?? $0 }
  }
}
