/// Takes what a context wants to save into its stores: one transaction for each store, conflicts resolved by the
/// context's merge policy.
final class StoreSaver {
  private let policy: MergePolicy
  private let coordinator: PersistentStoreCoordinator
  private let storage: ContextStorage
  private var units: [(store: any PersistentStore, unit: UnitOfWork)] = []
  /// The permanent identifiers that the save gives, by temporary ones. Empty when nothing refers to anything.
  private var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]

  /// Reserves identifiers and gathers the changes. Reads what it needs; writes nothing.
  init(context: ManagedObjectContext, coordinator: PersistentStoreCoordinator) throws {
    policy = context.mergePolicy
    self.coordinator = coordinator
    storage = context.storage
    let isNested = context.parent != nil
    let records = context.storage.records.filter { record in
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
    var groups: [(first: ManagedObjectID, changes: [RecordChange])] = []
    for record in records {
      let id = record.reservedID ?? record.id
      guard !id.isTemporaryID else { throw unsaved(record) }
      let change = try change(record, id: id, stored: isNested ? try context.storedBase(of: record) : nil)
      if let place = groups.lastIndex(where: { $0.first.isNeighbour(of: id) }) {
        groups[place].changes.append(change)
      } else {
        groups.append((id, [change]))
      }
    }
    for store in try coordinator.openStores() {
      var unit = UnitOfWork()
      for group in groups where group.first.storeIdentifier == store.identifier {
        unit.changes = unit.changes.isEmpty ? group.changes : unit.changes + group.changes
      }
      guard !unit.changes.isEmpty else { continue }
      groups.removeAll { $0.first.storeIdentifier == store.identifier }
      var gatherer = LinkGatherer(store: store, permanentID: { self.permanentIDs[$0] ?? $0 })
      try gatherer.gather(unit.changes)
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
    let kind: RecordChange.Kind =
      switch record.kind {
      case .inserted: .insert
      case .updated: .update
      case .deleted: .delete
      }
    let base = stored ?? record.base
    var row: Row?
    if kind == .insert || (kind == .update && !record.changed.isEmpty) {
      var written = draft(of: record, onto: stored, id: id, version: RecordChange.version(after: base))
      if !record.entity.referenceSlots.isEmpty {
        try makePermanent(&written, record, store: id.storeIdentifier)
      }
      row = written
    }
    return RecordChange(record, id: id, kind: kind, base: base, row: row, changed: record.changed)
  }

  /// The record's values as a row: the record's own buffer, unless a parent's edits have to stay out.
  private func draft(of record: PendingRecord, onto stored: Row?, id: ManagedObjectID, version: Int64) -> Row {
    guard var row = stored else { return storage.withPending { record.sealed(as: id, version: version) } }
    for slot in record.changed { row.set(record[slot], at: slot) }
    row.seal(id: id, version: version)
    return row
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
    for change in unit.changes where change.isWritten {
      if let row = change.row { row.id.space.rows.enter(row) }
    }
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
          change.record, id: change.id, kind: .delete, base: met.storeRow, row: nil, changed: change.changed)
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
    let base = row ?? change.base
    let written = Row.make(
      id: change.id, entity: change.entity, version: RecordChange.version(after: base), values: values)
    guard let row else {
      return RecordChange(
        change.record, id: change.id, kind: .insert, base: base, row: written, changed: change.changed)
    }
    let changed = SlotSet(values.indices.filter { values[$0] != row[$0] })
    return RecordChange(
      change.record, id: change.id, kind: .update, base: row, row: changed.isEmpty ? nil : written, changed: changed)
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
