/// Takes what a context wants to save into its stores: one transaction for each store, conflicts resolved by the
/// context's merge policy.
final class StoreSaver {
  private let policy: MergePolicy
  private let coordinator: PersistentStoreCoordinator
  private var units: [(store: any PersistentStore, unit: UnitOfWork)] = []
  /// The permanent identifiers that the save gives, by temporary ones.
  private var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
  private(set) var publishedIDs: [ManagedObjectID: ManagedObjectID] = [:]

  /// Reserves identifiers and gathers the changes. Reads what it needs; writes nothing.
  init(context: ManagedObjectContext, coordinator: PersistentStoreCoordinator) throws {
    policy = context.mergePolicy
    self.coordinator = coordinator
    let records = context.storage.records.values.filter { !$0.isVoid && !context.isParentsInsert($0) }
    try coordinator.reserveIDs(for: records.filter { $0.kind == .inserted && $0.id.isTemporaryID })
    for record in records {
      if record.id.isTemporaryID, let permanent = record.reservedID { permanentIDs[record.id] = permanent }
    }
    try gather(records, context)
  }

  // MARK: Gathering

  private func gather(_ records: [PendingRecord], _ context: ManagedObjectContext) throws {
    var byStore: [StoreIdentifier: UnitOfWork] = [:]
    for record in records {
      let id = permanentIDs[record.id] ?? record.id
      guard let store = id.storeIdentifier else { throw unsaved(record) }
      byStore[store, default: UnitOfWork()].changes.append(try change(record, id: id, context))
    }
    for store in try coordinator.openStores() {
      guard var unit = byStore.removeValue(forKey: store.identifier) else { continue }
      unit.changes.sort { $0.id.key < $1.id.key }
      var gatherer = LinkGatherer(store: store, permanentID: { self.permanentIDs[$0] ?? $0 })
      for change in unit.changes { try gatherer.gather(change, context) }
      unit.links = gatherer.links
      units.append((store, unit))
    }
    if !byStore.isEmpty {
      throw CoherenceError(.storeDetached, "The store of a changed object is not attached any more; attach it and save again.")
    }
  }

  private func change(_ record: PendingRecord, id: ManagedObjectID, _ context: ManagedObjectContext) throws -> RecordChange {
    let kind: RecordChange.Kind =
      switch record.kind {
      case .inserted: .insert
      case .updated: .update
      case .deleted: .delete
      }
    var base = record.base
    var values = record.values
    if let stored = context.storedBase(of: record) {
      // The base was a parent's unsaved state: what the store has is below it, and the parent's edits stay out.
      base = stored
      values = stored.values
      for slot in record.changed { values[slot] = record.values[slot] }
    }
    if record.kind != .deleted { try makePermanent(&values, record, store: id.storeIdentifier) }
    return RecordChange(
      record: record, id: id, entity: record.entity, kind: kind, base: base, values: values, changed: record.changed)
  }

  private func makePermanent(_ values: inout [AttributeValue], _ record: PendingRecord, store: StoreIdentifier?) throws {
    for slot in record.entity.referenceSlots {
      guard case .reference(let target) = values[slot] else { continue }
      if let permanent = permanentIDs[target] { values[slot] = .reference(permanent) }
      guard case .reference(let final) = values[slot], let home = final.storeIdentifier else { throw unsaved(record) }
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
        publishedIDs.merge(committed.given) { $1 }
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
    let temporary = Dictionary(permanentIDs.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    result.objectIDs = result.objectIDs.map { temporary[$0] ?? $0 }
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

  /// Saves one unit, resolving conflicts until the store takes it.
  private func commit(_ unit: UnitOfWork, to store: any PersistentStore) throws -> (UnitOfWork, CommittedRows) {
    var unit = unit
    var surrendered: [CommittedRows.Surrender] = []
    for _ in 0..<16 {
      do {
        let request = SavePlan(unit).request
        if !request.steps.isEmpty { try store.save(request) }
        return (unit, committed(unit, request, surrendered))
      } catch let failure as StoreConflict.Failure {
        try resolve(failure.conflicts, in: &unit, &surrendered)
      }
    }
    throw CoherenceError(
      .versionConflict, "The records are changed by others faster than conflicts can be resolved; save again.",
      isRetryable: true)
  }

  private func committed(
    _ unit: UnitOfWork, _ request: StoreSaveRequest, _ surrendered: [CommittedRows.Surrender]
  ) -> CommittedRows {
    var result = CommittedRows(permanentIDs: permanentIDs)
    result.surrendered = surrendered
    var bySpace: [IDSpaceKey: [Row]] = [:]
    for change in unit.changes where change.kind == .insert || (change.kind == .update && !change.changed.isEmpty) {
      bySpace[IDSpaceKey(space: change.id.space), default: []].append(change.row)
      if change.kind == .insert, change.record.id != change.id { result.given[change.record.id] = change.id }
    }
    for (key, var rows) in bySpace {
      key.space.rows.share(&rows)
      for row in rows { result.rows[row.id] = row }
    }
    return result
  }

  // MARK: Conflicts

  private func resolve(
    _ conflicts: [StoreConflict], in unit: inout UnitOfWork, _ surrendered: inout [CommittedRows.Surrender]
  ) throws {
    let places = Dictionary(uniqueKeysWithValues: unit.changes.enumerated().map { ($0.element.id, $0.offset) })
    var failed: [Conflict] = []
    var dropped: Set<Int> = []
    for met in conflicts {
      guard let place = places[met.id] else { continue }
      let change = unit.changes[place]
      let conflict = Conflict(
        objectID: met.id, ancestor: change.base, mine: change.kind == .delete ? nil : change.row, store: met.storeRow)
      switch try policy.resolve(conflict, changed: change.changed) {
      case .fail: failed.append(conflict)
      case .write(let values): unit.changes[place] = try rebased(change, onto: met.storeRow, values)
      case .delete:
        if let row = met.storeRow { unit.changes[place].base = row } else { dropped.insert(place) }
      case .giveUp: dropped.insert(place)
      }
      if dropped.contains(place) {
        surrendered.append(CommittedRows.Surrender(record: change.record, storeRow: met.storeRow))
      }
    }
    guard failed.isEmpty else { throw conflictError(failed) }
    unit.changes = unit.changes.enumerated().filter { !dropped.contains($0.offset) }.map(\.element)
  }

  /// A change on top of what the store has; an insert when the store has nothing any more.
  private func rebased(_ change: RecordChange, onto row: Row?, _ values: [AttributeValue]) throws -> RecordChange {
    guard values.count == change.entity.slotCount else {
      throw CoherenceError(.invalidValue, "A merge policy must answer one value for each slot of the row.")
    }
    var result = change
    result.values = values
    if let row {
      result.base = row
      result.changed = SlotSet(values.indices.filter { values[$0] != row[$0] })
    } else {
      result.kind = .insert
    }
    return result
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
  /// The new rows.
  var rows: [ManagedObjectID: Row] = [:]
  /// Identifiers given, by temporary ones.
  var given: [ManagedObjectID: ManagedObjectID] = [:]
  /// Records whose changes were given up.
  var surrendered: [Surrender] = []

  func permanentID(_ id: ManagedObjectID) -> ManagedObjectID { permanentIDs[id] ?? id }
}
