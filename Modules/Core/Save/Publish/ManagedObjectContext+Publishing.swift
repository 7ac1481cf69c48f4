// The last stage of a save: the objects of committed changes become clean, and a change set for other contexts is made.

extension ManagedObjectContext {
  /// Makes the objects of a committed unit clean.
  ///
  /// - Parameter changes: Receives the changes, for other contexts.
  final func publish(_ committed: CommittedUnit, into changes: inout ChangeSet) {
    let unit = committed.unit
    let moved = storage.unsaved.movedRecords
    let detachedJoins = takeJoinedObjects(of: committed, &changes)
    for (group, saved) in zip(unit.rows.inserts, unit.insertGroups) {
      // Most saves have one group, whose array is shared.
      changes.inserted = changes.inserted.isEmpty ? group.rows : changes.inserted + group.rows
      if let id = group.rows.first?.id {
        id.space.rows.reserve(group.rows.count)
        storage.registry.reserve(group.rows.count, inSpaceOf: id)
      }
      markClean(saved, writing: group.rows, committed.permanentIDs, &changes)
    }
    let updated = unit.updates.compactMap { $0.isWritten ? $0.row : nil }
    changes.updated += updated
    markClean(unit.updates, writing: updated, committed.permanentIDs, &changes)
    storage.untrack(unit.insertsAndUpdates)
    let deleted = unit.deletes
    let deletedIDs = deleted.map(\.id)
    changes.deleted += deletedIDs
    let bareDeletes = deleted.filter { $0.object == nil }
    for change in deleted { if let object = change.object { detachDeleted(object) } }
    storage.untrack(bareDeletes: bareDeletes)
    if !deleted.isEmpty { invalidateLists(of: deletedIDs, withoutInverse: true) }
    // The lists of other objects have the members of the discarded changes.
    invalidateLists(of: committed.discarded.lazy.map(\.record.permanentID))
    // The lists were read with these records, which only their unsaved changes have left out.
    invalidateLists(of: moved)
    for row in committed.partnerRows { showPartner(row) }
    for change in committed.discarded { discard(change) }
    for relationship in committed.outdatedLists { invalidateBothSides(of: relationship) }
    changes.relinked.merge(unit.links.owners) { $0.union($1) }
    publishAdded(committed.added, into: &changes)
    publish(derived: committed.derived, into: &changes)
    // The objects that the context had of the other records get the values of the joins.
    for row in detachedJoins.compactMap(\.row) { refresh(from: row, isNew: false, relinked: []) }
    rereadInChildren(committed.discarded.compactMap { $0.storeRow == nil ? $0.record.permanentID : nil })
    if !storage.vanished.edited.isEmpty { noteDeletedOwners(in: unit) }
  }

  /// Notes the records that other writers have deleted, and of which the unit only changed the members: the save has not
  /// written them, and has not met their delete.
  private final func noteDeletedOwners(in unit: UnitOfWork) {
    noteMissing(unit.updates.filter { !$0.isWritten && storage.vanished.edited.contains($0.id) }.map(\.id))
    storage.forgetDeletesOfCleanRecords()
  }

  /// Gives the unchanged object of a record a newer row. The record's lists were not read with the row.
  private final func showPartner(_ row: Row) {
    guard let object = storage.registry.object(for: row.id), object.pending == nil, let former = object.row,
      former.version < row.version
    else { return }
    object.row = throughParents(row)
    object.collections = nil
    noteRefreshed(object)
  }

  /// Refreshes the objects of this context from rows whose derived values a save changed.
  ///
  /// - Parameter changes: Receives the rows, for other contexts.
  private final func publish(derived rows: [Row], into changes: inout ChangeSet) {
    guard !rows.isEmpty else { return }
    Row.enter(rows[...])
    for row in rows { refresh(from: row, isNew: false, relinked: []) }
    changes.updated += rows
  }

  /// Makes the objects of committed changes clean, some at a time, so that each step finds the memory of the step
  /// before in the processor's caches.
  ///
  /// - Parameter rows: The rows that the changes wrote, in the same order.
  private final func markClean(
    _ saved: [RecordChange], writing rows: [Row], _ permanentIDs: PermanentIDs, _ changes: inout ChangeSet
  ) {
    let count = 256
    let isParent = isParent
    let isChild = parent != nil
    for start in stride(from: 0, to: saved.count, by: count) {
      if start < rows.count { Row.enter(rows[start..<min(start + count, rows.count)]) }
      let batch = saved[start..<min(start + count, saved.count)]
      var moves: [ObjectRegistry.Move] = []
      for change in batch {
        guard let object = change.object else { continue }
        markClean(object, change, permanentIDs)
        if isChild { object.row = object.row.map { throughParents($0, except: change.changed) } }
        guard object.recordID != change.id else { continue }
        let former = object.recordID
        moves.append(ObjectRegistry.Move(object, to: change.id))
        let isExposed = object.flags.contains(.temporaryIDExposed)
        if isParent || isExposed {
          storage.withPending { storage.formerIDs.note(change.id, of: former, isExposed: isExposed) }
          changes.permanentIDs[former] = change.id
        }
      }
      storage.registry.move(moves)
      for change in batch { change.releaseObject() }
    }
  }

  private final func markClean(_ object: ManagedObject, _ change: RecordChange, _ permanentIDs: PermanentIDs) {
    if object.collections != nil {
      if change.join == nil, change.base?.version == change.record.base?.version {
        // The changed lists come first, because a list is found by the row's former version.
        if change.hasMembers {
          keepMembers(of: object, change.record, version: change.row?.version, permanentIDs)
        }
        if let version = change.row?.version { object.advanceLists(to: version) }
      } else {
        // A merge policy rebased the change onto a newer row, whose lists were not read.
        object.collections = nil
      }
    }
    if hasValuesOfOthers(object, change) { noteRefreshed(object) }
    object.pending = nil
    object.row = change.row
  }

  /// Whether the resolution of conflicts gave an object values that no notification has named: values of another writer,
  /// also in place of discarded edits, or a reference of a partner that the user has not changed.
  private final func hasValuesOfOthers(_ object: ManagedObject, _ change: RecordChange) -> Bool {
    // Asked first for the changes that no resolution has touched, which are most.
    if change.isTracked, !change.isResolved { return false }
    guard let row = change.row, !change.isTakeover else { return false }
    guard change.isTracked else {
      // The store's row may be newer than the object's. A new position is no value that a user reads.
      guard let former = object.row ?? change.base else { return true }
      return change.entity.slots.indices.contains { slot in
        if case .position = change.entity.slots[slot] { false } else { row[slot] != former[slot] }
      }
    }
    guard let base = change.record.base, change.join != nil || change.base?.version != base.version else {
      return false
    }
    return row.values != change.record.snapshot.values
  }

  /// Makes the lists with the saved changes the object's stored lists.
  ///
  /// - Parameter version: The version of the written row.
  private final func keepMembers(
    of object: ManagedObject, _ record: PendingRecord, version: Int64?, _ permanentIDs: PermanentIDs
  ) {
    guard let lists = object.collections else { return }
    for relationship in record.members.keys where lists[relationship] != nil {
      // A read of an outdated list would return the store's list, which has the changes already.
      guard object.loadedList(of: relationship) != nil,
        let ids = (try? object.memberIDs(of: relationship)).map(permanentIDs.all)
      else {
        object.collections?[relationship] = nil
        continue
      }
      let arranged = object.loadedList(of: relationship)?.arranged
      let list = object.setMemberList(
        relationship.isOrdered ? ids : ids.sorted(by: ManagedObjectID.precedes), of: relationship, version: version)
      guard let arranged, arranged.ids.count == ids.count else { continue }
      let matching = ListMatching(ids, in: permanentIDs.all(arranged.ids))
      if matching.isComplete { list.positions = matching.formerIndices.map { $0.flatMap { arranged.positions[$0] } } }
    }
  }

  /// Marks all loaded lists of a relationship and of its inverse as out of date.
  private final func invalidateBothSides(of relationship: RelationshipDescription) {
    storage.invalidateLists(of: relationship)
    if let inverse = relationship.inverse, inverse.isToMany { storage.invalidateLists(of: inverse) }
  }

  /// Discards the changes of a record that the merge policy discarded: the object shows the store's row, or is
  /// detached.
  final func discard(_ change: DiscardedChange) {
    guard let object = change.record.object else { return storage.untrack(change.record) }
    guard let row = change.storeRow else {
      change.record.isDeletedElsewhere = true
      detachDeleted(object)
      events.noteDeleted(object)
      return
    }
    for relationship in change.record.members.keys { invalidateBothSides(of: relationship) }
    // A discarded position leaves the loaded list of the owner in an order that the store does not have.
    for slot in change.record.changed {
      guard case .position(let owner) = change.record.entity.slots[slot], let list = owner.inverse else { continue }
      storage.invalidateLists(of: list)
    }
    storage.untrack(change.record)
    object.row = row
    object.collections = nil
    noteRefreshed(object)
  }
}
