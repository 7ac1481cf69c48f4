/// The unit of work of one store.
struct StoreUnit {
  let store: any PersistentStore
  var unit: UnitOfWork
}

/// The stage of a save that turns unsaved records into a unit of work for each store, with the rows to write and the
/// links to change. Reads links of deleted records; writes nothing.
final class UnitGatherer {
  private let context: ManagedObjectContext
  private let storage: ContextStorage
  private let gathered: GatheredRecords
  private let permanentIDs: PermanentIDs
  private let derivedValues: DerivedValues

  init(
    _ context: ManagedObjectContext, _ gathered: GatheredRecords, _ permanentIDs: PermanentIDs,
    _ derivedValues: DerivedValues
  ) {
    self.derivedValues = derivedValues
    self.context = context
    storage = context.storage
    self.gathered = gathered
    self.permanentIDs = permanentIDs
  }

  /// Gathers the units, in the order of the coordinator's stores.
  ///
  /// - Throws: ``ErrorCode/danglingReference`` for a reference to a record that a parent has not saved;
  ///   ``ErrorCode/relationshipCrossesStores``; ``ErrorCode/storeDetached`` for a record of a detached store;
  ///   ``ErrorCode/deleteDenied``; errors of the store that reads links.
  func units(in coordinator: PersistentStoreCoordinator) throws -> [StoreUnit] {
    var units = try unitsByStore()
    var result: [StoreUnit] = []
    for store in try coordinator.openStores() {
      guard let index = units.firstIndex(where: { $0.home == store.identifier }) else { continue }
      var unit = units.remove(at: index).unit
      unit.links = try LinkGatherer(store: store, context: context, permanentIDs: permanentIDs).links(of: unit)
      result.append(StoreUnit(store: store, unit: unit))
    }
    guard units.isEmpty else {
      throw CoherenceError(
        .storeDetached,
        "The store of a changed object is not attached any more; attach it and save again, or reset the context.")
    }
    return result
  }

  /// The units with their changes, without links, by store.
  private func unitsByStore() throws -> [(home: StoreIdentifier, unit: UnitOfWork)] {
    let keeper = RecordKeeper(gathered.records)
    var units: [(home: StoreIdentifier, unit: UnitOfWork)] = []
    // Most saves change records of one space in a row.
    var last: (id: ManagedObjectID, index: Int)?
    for (index, record) in gathered.records.enumerated() where !record.isUnchanged {
      let id = record.permanentID
      if last?.id.hasSameSpace(as: id) != true {
        guard let home = id.storeIdentifier else { throw unsavedReference(from: record) }
        let index = units.firstIndex { $0.home == home } ?? units.count
        if index == units.count { units.append((home, UnitOfWork(of: keeper))) }
        last = (id, index)
      }
      let stored = gathered.bases.isEmpty ? nil : gathered.bases[index]
      units[last!.index].unit.append(try clearingReferencesToDeleted(in: change(record, id: id, stored: stored)))
    }
    return units
  }

  /// The change without references to records that the save deletes. A change made on top of another writer's save may have
  /// references that the delete rules did not find.
  private func clearingReferencesToDeleted(in change: RecordChange) throws -> RecordChange {
    guard storage.unsaved.hasDeletes else { return change }
    return try change.clearingReferences { storage.record(for: $0)?.kind == .deleted }
  }

  /// The change of a record, with the row to write.
  ///
  /// - Parameter stored: The stored row below a parent's unsaved edits, which stay out of the save.
  /// - Throws: ``ErrorCode/storeCorrupt`` for a record without a next version; ``ErrorCode/danglingReference``.
  private func change(_ record: PendingRecord, id: ManagedObjectID, stored: StoredBase?) throws -> RecordChange {
    guard record.isWritten else {
      guard let stored else { return RecordChange(record) }
      return RecordChange(
        record, kind: record.kind, base: stored.row, row: nil, changed: record.changed,
        baseVersion: stored.version(for: record), overtaken: stored.overtaken)
    }
    try RecordChange.checkVersion(of: stored?.row ?? record.base)
    guard let stored else {
      storage.withPending { record.seal(as: id, version: RecordChange.version(after: record.base)) }
      guard record.entity.hasReferences else { return RecordChange(record) }
      var row = record.draft
      try makePermanent(&row, record, store: id.storeIdentifier)
      if row.isIdentical(to: record.draft) { return RecordChange(record) }
      return RecordChange(
        record, kind: record.kind, base: record.base, row: row, changed: record.changed,
        baseVersion: record.baseVersion, overtaken: record.overtaken)
    }
    var row = stored.row
    var changed = record.changed
    for slot in changed { row.set(record[slot], at: slot) }
    try release(&row, changing: &changed, of: record)
    derivedValues.derive(
      &row, changing: &changed, over: stored.row, movesOnly: record.changesPositionsOnly)
    row.seal(id: id, version: RecordChange.version(after: stored.row))
    if record.entity.hasReferences { try makePermanent(&row, record, store: id.storeIdentifier) }
    return RecordChange(
      record, kind: record.kind, base: stored.row, row: row, changed: changed,
      baseVersion: stored.version(for: record), overtaken: stored.overtaken)
  }

  /// Clears stored references to deleted records. A parent has replaced them without a save, so that the delete rules
  /// did not find them.
  private func release(_ row: inout Row, changing changed: inout SlotSet, of record: PendingRecord) throws {
    guard storage.unsaved.hasDeletes else { return }
    for (relationship, target) in row.constrainedReferences where storage.record(for: target)?.kind == .deleted {
      guard relationship.isOptional else { throw CoherenceError.lateReference(relationship, of: record.id, to: target) }
      for cleared in relationship.slotsWithPosition {
        row.set(.null, at: cleared)
        changed.insert(cleared)
      }
    }
  }

  /// Replaces the temporary identifiers in a row's references, and clears references to records that were never saved.
  ///
  /// - Throws: ``ErrorCode/danglingReference``, ``ErrorCode/relationshipCrossesStores``, ``ErrorCode/storeDetached``.
  private func makePermanent(_ row: inout Row, _ record: PendingRecord, store: StoreIdentifier?) throws {
    for slot in record.entity.referenceSlots {
      guard case .reference(let target) = row[slot] else { continue }
      let permanent = permanentIDs[target]
      if permanent != target { row.set(.reference(permanent), at: slot) }
      guard let home = permanent.storeIdentifier else {
        try clear(slot, of: record, in: &row, target)
        continue
      }
      guard home == store else {
        // The store of a new record is another one because the target's store is detached.
        _ = try context.coordinator().store(of: permanent)
        throw CoherenceError(
          .relationshipCrossesStores,
          "'\(record.entity.name).\(record.entity.slots[slot].name)' leads from one store into another; "
            + "keep both objects in one store, or leave the relationship empty.")
      }
    }
  }

  /// Clears a reference to a record that was never saved.
  ///
  /// - Throws: ``ErrorCode/danglingReference`` if the relationship is required or constrained, and if the record may
  ///   still be saved by a parent.
  private func clear(
    _ slot: Int, of record: PendingRecord, in row: inout Row, _ target: ManagedObjectID
  ) throws {
    guard context.wasNeverSaved(target), case .reference(let relationship) = record.entity.slots[slot] else {
      throw unsavedReference(from: record)
    }
    guard relationship.isOptional, !relationship.isConstrained else {
      throw CoherenceError.neverSaved(relationship, of: record.id)
    }
    for cleared in relationship.slotsWithPosition { row.set(.null, at: cleared) }
  }

  private func unsavedReference(from record: PendingRecord) -> CoherenceError {
    var error = CoherenceError(
      .danglingReference,
      "An object of '\(record.entity.name)' refers to an object that a parent context has not saved. Save the parent "
        + "first, then this context in a new block. If the parent has discarded the object, set the relationship to nil."
    )
    error.objectIDs = [record.id]
    return error
  }
}

extension CoherenceError {
  /// The error of a reference to an object that was discarded before its first save.
  fileprivate static func neverSaved(
    _ relationship: RelationshipDescription, of id: ManagedObjectID
  ) -> CoherenceError {
    var error = CoherenceError(
      .danglingReference,
      "'\(relationship.entity.name).\(relationship.name)' leads to an object that was discarded before its first save; "
        + "choose another target, or set the relationship to nil, and save again.")
    error.objectIDs = [id]
    return error
  }
}
