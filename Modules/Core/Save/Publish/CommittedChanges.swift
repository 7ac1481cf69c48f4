/// Collects the committed changes of a save or a batch request for the streams of changes by entity and for live
/// results. Collects nothing for a kind of receiver without receivers.
struct CommittedChanges {
  /// The changes for the streams of changes by entity; `nil` without streams.
  private var list: EntityChangeList?
  /// The changes for live results; `nil` without live results.
  private var changes: StoreChanges?

  init(for coordinator: PersistentStoreCoordinator) {
    list = coordinator.entityChangeFeed.isObserved ? EntityChangeList() : nil
    changes = coordinator.storeEventHub.isObserved ? StoreChanges() : nil
  }

  /// Adds a committed unit. Its records must still be unsaved.
  mutating func add(_ committed: CommittedUnit) {
    list?.add(committed.unit)
    changes?.add(committed.unit)
    for absorbed in committed.absorbed { changes?.renamed[absorbed.record.id] = absorbed.id }
    add(committed.added)
    if !committed.derived.isEmpty {
      add(derived: committed.derived, besides: committed.unit.insertsAndUpdates.map(\.id))
    }
  }

  /// Adds the rows whose derived values a save changed.
  ///
  /// - Parameter ids: Records already in the list.
  mutating func add(derived rows: [Row], besides ids: [ManagedObjectID] = []) {
    guard !rows.isEmpty else { return }
    if list != nil {
      let listedIDs = Set(ids)
      for (_, rows) in Dictionary(grouping: rows.filter { !listedIDs.contains($0.id) }, by: { $0.entity.position })
        .sorted(by: { $0.key < $1.key })
      {
        list?.add(rows.map(\.id), of: rows[0].entity, as: .updated)
      }
    }
    changes?.add(derived: rows)
  }

  /// Adds the records that participants added.
  mutating func add(_ records: ParticipantRecords) {
    list?.add(records)
    changes?.add(inserted: records.rows)
  }

  /// Adds the inserted records of a batch request, which are all of one entity.
  mutating func add(inserted rows: [Row], of entity: EntityDescription) {
    list?.add(rows.map(\.id), of: entity, as: .inserted)
    list?.add(ownersOf: rows, of: entity)
    changes?.add(inserted: rows)
    changes?.add(ownersOf: rows, of: entity)
  }

  /// Adds to-many relationships whose members a batch request changed, for unknown owners.
  mutating func add(relinked relationships: [RelationshipDescription]) {
    changes?.relinkedByBatch.formUnion(relationships)
  }

  /// Adds records of a batch request.
  mutating func add(
    batch ids: [ManagedObjectID], of entity: EntityDescription? = nil, as kind: EntityChangeKind, slots: SlotSet? = nil
  ) {
    list?.add(batch: ids, of: entity, as: kind)
    changes?.add(batch: ids, of: entity, as: kind, slots: slots)
  }

  /// Drops the changes for live results after an unknown outcome. Live results then read everything again, because the
  /// store may have further changes.
  mutating func dropUncertain() { changes = nil }

  /// Posts the changes, and ends the running save at the hub.
  func post(to coordinator: PersistentStoreCoordinator, _ save: StoreEventHub.RunningSave) {
    if let list { coordinator.entityChangeFeed.post(list) }
    coordinator.storeEventHub.end(save, changes)
  }
}

extension StoreChanges {
  /// Adds rows whose derived values a save changed: to the changes of their records, or as changes of their own.
  fileprivate mutating func add(derived rows: [Row]) {
    var indices: [ManagedObjectID: Int] = [:]
    for (index, record) in records.enumerated() where record.kind != .deleted { indices[record.id] = index }
    for row in rows {
      let slots = SlotSet(row.entity.checked.related.lazy.map(\.slot))
      if let index = indices[row.id] {
        records[index].row = row
        records[index].slots = records[index].slots.map { $0.union(slots) }
      } else {
        records.append(Record(id: row.id, entity: row.entity, kind: .updated, slots: slots, row: row))
      }
    }
  }

  fileprivate mutating func add(inserted rows: [Row]) {
    records += rows.map { Record(id: $0.id, entity: $0.entity, kind: .inserted, row: $0) }
  }

  /// Adds the owners to which inserted rows refer, as owners with a new member.
  fileprivate mutating func add(ownersOf rows: [Row], of entity: EntityDescription) {
    for list in entity.listsDerivedFromRows {
      guard let slot = list.inverse?.slot else { continue }
      for row in rows {
        if case .reference(let owner) = row[slot] { relinked[owner, default: []].insert(list) }
      }
    }
  }

  /// Adds the changes of a committed unit of work. The unit's records must still be unsaved.
  mutating func add(_ unit: UnitOfWork) {
    let (inserts, deletes) = (unit.inserts, unit.deletes)
    records.reserveCapacity(records.count + inserts.count + unit.updates.count + deletes.count)
    for change in inserts {
      guard let row = change.row else { continue }
      let former = change.record.id
      if former != change.id { renamed[former] = change.id }
      records.append(
        Record(id: change.id, entity: change.entity, kind: .inserted, row: row, isRestored: change.base != nil))
    }
    for change in unit.updates where change.isTakeover { renamed[change.record.id] = change.id }
    for change in unit.updates where change.isWritten {
      records.append(
        Record(
          id: change.id, entity: change.entity, kind: .updated, slots: change.changed, base: change.base,
          row: change.row))
    }
    for change in deletes {
      records.append(Record(id: change.id, entity: change.entity, kind: .deleted, base: change.base))
    }
    relinked.merge(unit.links.owners) { $0.union($1) }
  }
}
