/// Takes what a context wants to save into its stores: one transaction for each store, conflicts resolved by the
/// context's merge policy.
final class StoreSaver {
  private let policy: MergePolicy
  private let coordinator: PersistentStoreCoordinator
  private let storage: ContextStorage
  /// What the changes are of, kept as long as they are.
  private let records: [PendingRecord]
  private var units: [(store: any PersistentStore, unit: UnitOfWork)] = []
  /// The permanent identifiers that the save gives, by temporary ones. Empty when nothing refers to anything.
  private var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]

  /// Reserves identifiers and gathers the changes. Reads what it needs; writes nothing.
  init(context: ManagedObjectContext, coordinator: PersistentStoreCoordinator) throws {
    policy = context.mergePolicy
    self.coordinator = coordinator
    storage = context.storage
    let isNested = context.parent != nil
    records =
      isNested
      ? storage.records.filter { !$0.isVoid && !context.isParentsInsert($0) } : storage.records
    try coordinator.reserveIDs(for: records)
    var hasRelationships = false
    records.visit { record in
      record._withUnsafeGuaranteedRef { if $0.hasMembers || $0.entity.hasReferences { hasRelationships = true } }
    }
    if hasRelationships {
      for record in records where record.id.isTemporaryID { permanentIDs[record.id] = record.reservedID }
    }
    try gather(context, isNested: isNested)
  }

  // MARK: Gathering

  private func gather(_ context: ManagedObjectContext, isNested: Bool) throws {
    var gathered: [(home: StoreIdentifier, unit: UnitOfWork)] = []
    // Most saves change records of one space in a row.
    var last: (id: ManagedObjectID, place: Int)?
    for record in records where !record.isVoid {
      let id = record.permanentID
      if last?.id.isNeighbour(of: id) != true {
        guard let home = id.storeIdentifier else { throw unsaved(record) }
        let place = gathered.firstIndex { $0.home == home } ?? gathered.count
        if place == gathered.count { gathered.append((home, UnitOfWork())) }
        last = (id, place)
      }
      let stored = isNested ? try context.storedBase(of: record) : nil
      gathered[last!.place].unit.append(try change(record, id: id, stored: stored))
    }
    for store in try coordinator.openStores() {
      guard let place = gathered.firstIndex(where: { $0.home == store.identifier }) else { continue }
      var unit = gathered.remove(at: place).unit
      var gatherer = LinkGatherer(store: store, permanentID: { self.permanentIDs[$0] ?? $0 })
      try gatherer.gather(unit)
      unit.links = gatherer.links
      units.append((store, unit))
    }
    guard gathered.isEmpty else {
      throw CoherenceError(
        .storeDetached, "The store of a changed object is not attached any more; attach it and save again.")
    }
  }

  /// - Parameter stored: What the store has below a parent's unsaved state; the parent's edits stay out of the save.
  private func change(_ record: PendingRecord, id: ManagedObjectID, stored: Row?) throws -> RecordChange {
    guard record.isWritten else {
      guard let stored else { return RecordChange(record) }
      return RecordChange(record, kind: record.kind, base: stored, row: nil, changed: record.changed)
    }
    guard let stored else {
      storage.withPending { record.seal(as: id, version: RecordChange.version(after: record.base)) }
      guard record.entity.hasReferences else { return RecordChange(record) }
      var row = record.draft
      try makePermanent(&row, record, store: id.storeIdentifier)
      if row.isIdentical(to: record.draft) { return RecordChange(record) }
      return RecordChange(record, kind: record.kind, base: record.base, row: row, changed: record.changed)
    }
    var row = stored
    for slot in record.changed { row.set(record[slot], at: slot) }
    row.seal(id: id, version: RecordChange.version(after: stored))
    if record.entity.hasReferences { try makePermanent(&row, record, store: id.storeIdentifier) }
    return RecordChange(record, kind: record.kind, base: stored, row: row, changed: record.changed)
  }

  private func makePermanent(_ row: inout Row, _ record: PendingRecord, store: StoreIdentifier?) throws {
    let slots = record.entity.referenceSlots
    for slot in slots {
      guard case .reference(let target) = row[slot] else { continue }
      if let permanent = permanentIDs[target] { row.set(.reference(permanent), at: slot) }
      guard case .reference(let final) = row[slot], let home = final.storeIdentifier else { throw unsaved(record) }
      guard home == store else {
        throw CoherenceError(
          .relationshipCrossesStores,
          "'\(record.entity.name).\(record.entity.slots[slot].name)' leads from one store into another; "
            + "keep both objects in one store, or leave the relationship empty.")
      }
    }
  }

  private func unsaved(_ record: PendingRecord) -> CoherenceError {
    var error = CoherenceError(
      .danglingReference,
      "An object of '\(record.entity.name)' refers to one that a parent context has not saved; save the parent first.")
    error.objectIDs = [record.id]
    return error
  }

  // MARK: Writing

  /// Saves into each store.
  ///
  /// - Parameter publish: Called for each unit that was committed.
  /// - Returns: What the save as a whole came to.
  func run(publish: (UnitOfWork, CommittedRows) -> Void) -> Result<Void, any Error> {
    var outcomes: [StoreIdentifier: SaveOutcome] = [:]
    for (store, unit) in units {
      do {
        let (final, committed) = try commit(unit, to: store)
        outcomes[store.identifier] = .applied
        publish(final, committed)
      } catch {
        return .failure(failure(error, of: store, outcomes))
      }
    }
    return .success(())
  }

  private func failure(
    _ error: any Error, of store: any PersistentStore, _ outcomes: [StoreIdentifier: SaveOutcome]
  ) -> any Error {
    guard var result = error as? CoherenceError else {
      return CoherenceError(.inputOutput, "The store failed to save.", underlying: error)
    }
    result.objectIDs = presentIDs(result.objectIDs)
    guard outcomes.values.contains(.applied) else {
      result.outcomes = Dictionary(uniqueKeysWithValues: units.map { ($0.store.identifier, SaveOutcome.notApplied) })
      result.outcomes[store.identifier] = result.outcome
      return result
    }
    var partial = CoherenceError(
      .partialSave,
      "Some stores were saved and one failed: \(result.message) Objects of the saved stores are clean; "
        + "mend the cause and save again.", underlying: result, isRetryable: result.isRetryable)
    partial.outcome = result.outcome
    partial.outcomes = Dictionary(
      uniqueKeysWithValues: units.map { ($0.store.identifier, outcomes[$0.store.identifier] ?? .notApplied) })
    partial.outcomes[store.identifier] = result.outcome
    partial.objectIDs = result.objectIDs
    return partial
  }

  /// The identifiers that records have now, for those that they would have had after the save.
  private func presentIDs(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    let wanted = Set(ids)
    var present: [ManagedObjectID: ManagedObjectID] = [:]
    for change in units.flatMap(\.unit.changes) where wanted.contains(change.id) {
      present[change.id] = change.record.id
    }
    return ids.map { present[$0] ?? $0 }
  }

  /// Saves one unit, resolving conflicts until the store takes it.
  private func commit(_ unit: UnitOfWork, to store: any PersistentStore) throws -> (UnitOfWork, CommittedRows) {
    var unit = unit
    var surrendered: [CommittedRows.Surrender] = []
    for _ in 0..<16 {
      do {
        let request = SavePlan(unit).request
        if !request.steps.isEmpty { try store.save(request) }
        return (unit, CommittedRows(permanentIDs: permanentIDs, surrendered: surrendered))
      } catch let failure as StoreConflict.Failure {
        try resolve(failure.conflicts, in: &unit, &surrendered)
      }
    }
    throw CoherenceError(
      .versionConflict, "The records are changed by others faster than conflicts can be resolved; save again.",
      isRetryable: true)
  }

  // MARK: Conflicts

  private func resolve(
    _ conflicts: [StoreConflict], in unit: inout UnitOfWork, _ surrendered: inout [CommittedRows.Surrender]
  ) throws {
    let met = Dictionary(conflicts.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var failed: [Conflict] = []
    var resolved = UnitOfWork()
    resolved.links = unit.links
    for change in unit.changes {
      guard let storeRow = met[change.id].map(\.storeRow) else {
        resolved.append(change)
        continue
      }
      let conflict = Conflict(
        objectID: change.id, ancestor: change.base, mine: change.kind == .deleted ? nil : change.row, store: storeRow)
      switch try policy.resolve(conflict, changed: change.changed) {
      case .fail: failed.append(conflict)
      case .write(let values): resolved.append(try rebased(change, onto: storeRow, values))
      case .delete where storeRow != nil:
        resolved.append(
          RecordChange(change.record, kind: .deleted, base: storeRow, row: nil, changed: change.changed))
      case .delete, .giveUp:
        surrendered.append(CommittedRows.Surrender(record: change.record, storeRow: storeRow))
      }
    }
    guard failed.isEmpty else { throw conflictError(failed) }
    unit = resolved
  }

  /// A change on top of what the store has; an insert when the store has nothing any more.
  private func rebased(_ change: RecordChange, onto row: Row?, _ values: [AttributeValue]) throws -> RecordChange {
    guard values.count == change.entity.slotCount else {
      throw CoherenceError(.invalidValue, "A merge policy must answer one value for each slot of the row.")
    }
    let base = row ?? change.base
    let written = Row.make(
      id: change.id, entity: change.entity, version: RecordChange.version(after: base), values: values)
    guard let row else {
      return RecordChange(change.record, kind: .inserted, base: base, row: written, changed: change.changed)
    }
    let changed = SlotSet(values.indices.filter { values[$0] != row[$0] })
    return RecordChange(
      change.record, kind: .updated, base: row, row: changed.isEmpty ? nil : written, changed: changed)
  }

  private func conflictError(_ conflicts: [Conflict]) -> CoherenceError {
    var error = CoherenceError(
      .versionConflict,
      "\(conflicts.count) record(s) were changed or deleted by others since they were read. "
        + "Refresh them, or choose a merge policy.")
    error.conflicts = conflicts
    error.objectIDs = conflicts.map(\.objectID)
    return error
  }
}

/// What a committed unit left behind.
struct CommittedRows {
  struct Surrender {
    let record: PendingRecord
    let storeRow: Row?
  }
  let permanentIDs: [ManagedObjectID: ManagedObjectID]
  /// Records whose changes were given up.
  let surrendered: [Surrender]

  func permanentID(_ id: ManagedObjectID) -> ManagedObjectID { permanentIDs[id] ?? id }
}
