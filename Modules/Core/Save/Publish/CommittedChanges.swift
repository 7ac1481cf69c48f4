/// Collects the committed changes of a save or a batch request for the streams of changes by entity and for live
/// results, as far as any are in use.
struct CommittedChanges {
  private var list: EntityChangeList?
  private var changes: StoreChanges?

  init(for coordinator: PersistentStoreCoordinator) {
    list = coordinator.entityChangeFeed.isObserved ? EntityChangeList() : nil
    changes = coordinator.storeEventHub.isObserved ? StoreChanges() : nil
  }

  /// Adds a committed unit. Its records must still be current.
  mutating func add(_ committed: CommittedUnit) {
    list?.add(committed.unit)
    changes?.add(committed.unit)
    add(committed.added)
  }

  /// Adds the records that participants added.
  mutating func add(_ records: ParticipantRecords) {
    list?.add(records)
    changes?.add(inserted: records.rows)
  }

  /// Adds the inserted records of a batch request, which are all of one entity.
  mutating func add(inserted rows: [Row], of entity: EntityDescription) {
    list?.add(rows.map(\.id), of: entity, as: .inserted)
    changes?.add(inserted: rows)
  }

  /// Adds records of a batch request.
  mutating func add(
    batch ids: [ManagedObjectID], of entity: EntityDescription? = nil, as kind: EntityChangeKind, slots: SlotSet? = nil
  ) {
    list?.add(batch: ids, of: entity, as: kind)
    changes?.add(batch: ids, of: entity, as: kind, slots: slots)
  }

  /// Drops the changes for live results, which read everything again when the changes are posted: it is unknown whether
  /// the store has further changes.
  mutating func dropUncertain() { changes = nil }

  /// Posts the changes, and ends the save's turn at the hub.
  func post(to coordinator: PersistentStoreCoordinator, _ turn: StoreEventHub.Turn) {
    if let list { coordinator.entityChangeFeed.post(list) }
    coordinator.storeEventHub.end(turn, changes)
  }
}

extension StoreChanges {
  fileprivate mutating func add(inserted rows: [Row]) {
    records += rows.map { Record(id: $0.id, entity: $0.entity, kind: .inserted, row: $0) }
  }

  /// Adds the changes of a unit of work that was saved into one store. The unit's records must still be current.
  mutating func add(_ unit: UnitOfWork) {
    for change in unit.inserts {
      guard let row = change.row else { continue }
      let former = change.record.id
      if former != change.id { renamed[former] = change.id }
      records.append(
        Record(id: change.id, entity: change.entity, kind: .inserted, row: row, isRestored: change.base != nil))
    }
    for change in unit.updates where change.isWritten {
      records.append(
        Record(
          id: change.id, entity: change.entity, kind: .updated, slots: change.changed, base: change.base,
          row: change.row))
    }
    for change in unit.deletes {
      records.append(Record(id: change.id, entity: change.entity, kind: .deleted, base: change.base))
    }
    relinked.merge(unit.links.owners) { $0.union($1) }
  }
}
