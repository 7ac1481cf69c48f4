/// The save of changes in one store, together with the derived values of other records that depend on them.
///
/// A ``RelationshipDeriving`` store computes the values itself. For any other store, they are a part of the changes.
struct DerivingSave {
  /// The request for the store.
  var request: StoreSaveRequest
  /// The rows with derived values that Core computed.
  private let computed: [Row]

  /// Plans a save.
  ///
  /// - Parameter context: The context whose lease reads the records of a store that computes no values.
  /// - Throws: Errors of the store; ``ErrorCode/arithmeticOverflow``.
  init(_ changes: RowChanges, of context: ManagedObjectContext, in store: any PersistentStore) throws {
    let updates = AffectedDerivations.updates(of: changes, in: store.environment)
    if updates.isEmpty || store is any RelationshipDeriving {
      request = SavePlan(changes).request
      request.derivations = updates
      request.comparedLinks = changes.comparedLinks(in: store.environment)
      computed = []
      return
    }
    let computation = try context.readingLatest {
      try DerivationComputation(updates, after: changes, of: store, reading: context.lease.reader(for: store))
    }
    request = SavePlan(changes.replacing(computation.written)).request
    request.comparedLinks = changes.comparedLinks(in: store.environment)
    computed = computation.written.values.map(\.row).sorted { $0.key < $1.key }
  }

  /// Saves into the store, and updates the coordinator's row cache.
  ///
  /// - Returns: The rows with derived values, at their new versions.
  func run(in store: any PersistentStore, by coordinator: PersistentStoreCoordinator) throws -> [Row] {
    try store.writing { try coordinator.save(request, in: store) } + computed
  }

  /// Saves into the store without an update of the row cache, for batch requests.
  ///
  /// - Returns: The rows with derived values, at their new versions.
  func run(in store: any PersistentStore) throws -> [Row] {
    try store.writing { try store.saveDeriving(request) } + computed
  }
}

extension RowChanges {
  /// Returns the changes with computed rows: in place of rows that the changes write, and as further updates.
  ///
  /// - Parameter written: The rows with derived values that Core computed, by record.
  fileprivate func replacing(_ written: [ManagedObjectID: DerivationComputation.Written]) -> RowChanges {
    var result = RowChanges()
    var unmatched = written
    for group in inserts {
      for row in group.rows {
        let row = unmatched.removeValue(forKey: row.id)?.row ?? row
        _ = result.insert(row, of: group.entity, isRestored: group.restoredKeys.contains(row.key))
      }
    }
    for group in updates {
      for (update, base) in zip(group.updates, group.bases) {
        let derived = unmatched.removeValue(forKey: update.row.id)
        let slots = derived.map { group.slots.union($0.slots) } ?? group.slots
        let update = RowUpdate(row: derived?.row ?? update.row, baseVersion: update.baseVersion)
        result.update(update, of: group.entity, slots: slots, base: base)
      }
    }
    for group in deletes {
      for (delete, base) in zip(group.deletes, group.bases) { _ = result.delete(delete, of: group.entity, base: base) }
    }
    for (_, derived) in unmatched.sorted(by: { $0.key.key < $1.key.key }) {
      let update = RowUpdate(row: derived.row, baseVersion: derived.stored.version)
      result.update(update, of: derived.row.entity, slots: derived.slots, base: derived.stored)
    }
    result.links = links
    return result
  }
}
