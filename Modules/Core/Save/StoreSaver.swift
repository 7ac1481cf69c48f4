/// Takes what a context wants to save into its stores: one transaction for each store, conflicts resolved by the
/// context's merge policy.
final class StoreSaver {
  private let policy: MergePolicy
  private let coordinator: PersistentStoreCoordinator
  private var units: [(store: any PersistentStore, unit: UnitOfWork)] = []
  /// The permanent identifiers that the save gives, by temporary ones. Empty when nothing refers to anything.
  private var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]

  /// Reserves identifiers and gathers the changes. Reads what it needs; writes nothing.
  init(context: ManagedObjectContext, coordinator: PersistentStoreCoordinator) throws {
    policy = context.mergePolicy
    self.coordinator = coordinator
    let isNested = context.parent != nil
    let records = context.storage.orderedRecords.filter { record in
      !record.isVoid && !(isNested && context.isParentsInsert(record))
    }
    try coordinator.reserveIDs(for: records)
    if records.contains(where: { !$0.members.isEmpty || !$0.entity.referenceSlots.isEmpty }) {
      for record in records where record.id.isTemporaryID { permanentIDs[record.id] = record.reservedID }
    }
    try gather(records, context, isNested: isNested)
  }

  // MARK: Gathering

  private func gather(_ records: [PendingRecord], _ context: ManagedObjectContext, isNested: Bool) throws {
    var groups: [(space: IDSpace, changes: [RecordChange])] = []
    for record in records {
      let id = record.reservedID ?? record.id
      guard !id.isTemporaryID else { throw unsaved(record) }
      let change = try change(record, id: id, stored: isNested ? try context.storedBase(of: record) : nil)
      if let place = groups.lastIndex(where: { $0.space === id.space }) {
        groups[place].changes.append(change)
      } else {
        groups.append((id.space, [change]))
      }
    }
    for store in try coordinator.openStores() {
      var unit = UnitOfWork()
      for group in groups where group.space.store == store.identifier { unit.changes += group.changes }
      guard !unit.changes.isEmpty else { continue }
      groups.removeAll { $0.space.store == store.identifier }
      var gatherer = LinkGatherer(store: store, permanentID: { self.permanentIDs[$0] ?? $0 })
      for change in unit.changes { try gatherer.gather(change, context) }
      unit.links = gatherer.links
      units.append((store, unit))
    }
    guard groups.isEmpty else {
      throw CoherenceError(
        .storeDetached, "The store of a changed object is not attached any more; attach it and save again.")
    }
  }

  /// - Parameter stored: What the store has below a parent's unsaved state; the parent's edits stay out of the save.
  private func change(_ record: PendingRecord, id: ManagedObjectID, stored: Row?) throws -> RecordChange {
    var values = record.values
    if let stored {
      values = stored.values
      for slot in record.changed { values[slot] = record.values[slot] }
    }
    let kind: RecordChange.Kind =
      switch record.kind {
      case .inserted: .insert
      case .updated: .update
      case .deleted: .delete
      }
    if kind != .delete { try makePermanent(&values, record, store: id.storeIdentifier) }
    return RecordChange(
      record, id: id, kind: kind, base: stored ?? record.base, values: values, changed: record.changed)
  }

  private func makePermanent(
    _ values: inout [AttributeValue], _ record: PendingRecord, store: StoreIdentifier?
  ) throws {
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
        return (unit, committed(unit, surrendered))
      } catch let failure as StoreConflict.Failure {
        try resolve(failure.conflicts, in: &unit, &surrendered)
      }
    }
    throw CoherenceError(
      .versionConflict, "The records are changed by others faster than conflicts can be resolved; save again.",
      isRetryable: true)
  }

  private func committed(_ unit: UnitOfWork, _ surrendered: [CommittedRows.Surrender]) -> CommittedRows {
    var rows: [Row] = []
    rows.reserveCapacity(unit.changes.count)
    var space: IDSpace?
    for change in unit.changes where change.isWritten {
      guard let row = change.row else { continue }
      if row.id.space !== space {
        space?.rows.share(&rows)
        rows.removeAll(keepingCapacity: true)
        space = row.id.space
      }
      rows.append(row)
    }
    space?.rows.share(&rows)
    return CommittedRows(permanentIDs: permanentIDs, surrendered: surrendered)
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
      case .delete where met.storeRow != nil:
        unit.changes[place] = RecordChange(
          change.record, id: change.id, kind: .delete, base: met.storeRow, values: [], changed: change.changed)
      case .delete, .giveUp:
        dropped.insert(place)
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
    guard let row else {
      return RecordChange(
        change.record, id: change.id, kind: .insert, base: change.base, values: values, changed: change.changed)
    }
    return RecordChange(
      change.record, id: change.id, kind: .update, base: row, values: values,
      changed: SlotSet(values.indices.filter { values[$0] != row[$0] }))
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
