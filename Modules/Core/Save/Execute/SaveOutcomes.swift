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
    guard !applied.isEmpty else {
      result.outcomes = outcomes
      return result
    }
    var partial = CoherenceError(
      .partialSave,
      "Some stores were saved and one failed: \(result.message) Objects of the saved stores are clean; "
        + "mend the cause and save again.", underlying: result, isRetryable: result.isRetryable)
    partial.outcome = result.outcome
    partial.outcomes = outcomes
    partial.objectIDs = result.objectIDs
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
