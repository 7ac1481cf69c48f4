// The undo of deletes.

extension ManagedObjectContext {
  /// Reverts deletes: an unsaved delete by unmarking the record, a saved delete by inserting the object again. A record
  /// that another writer has deleted too stays deleted, and a record that exists again is not inserted a second time.
  ///
  /// - Parameter deletes: The deletes of a group, from the last one to the first.
  /// - Returns: The identifiers of the records that exist again.
  /// - Throws: Errors of loading records and members. No delete is reverted then.
  final func restore(_ deletes: [DeletedObject], by history: UndoHistory) throws -> Set<ManagedObjectID> {
    let allDeletes = deletes.filter { !$0.record.isDeletedElsewhere }
    // The saved deletes, and deletes of objects that were never saved.
    let allDetached = allDeletes.filter { !isMarked($0) && $0.object.flags.contains(.detached) }
    // A parent may have reverted the delete of a record that this context has inserted and deleted again without a save.
    let mayExist = parent != nil && allDetached.contains { $0.record.base == nil }
    let formerIDs = mayExist ? history.formerIDs : [:]
    // A read that fails later would leave members out as if other writers had deleted them.
    let loaded = try loadRecordsAndMembers(of: allDetached, formerIDs, by: history)
    defer { withExtendedLifetime(loaded) {} }
    let obsolete = try notingRestored(allDetached, formerIDs, by: history)
      .union(notingRepeated(allDeletes, by: history))
    let deletes = allDeletes.filter { !obsolete.contains(ObjectIdentifier($0)) }
    let detachedDeletes = allDetached.filter { !obsolete.contains(ObjectIdentifier($0)) }
    // The records refer to each other. So all identifiers are renewed first, then the records, then their members.
    for deleted in detachedDeletes { renewIdentifier(of: deleted, by: history) }
    var unmarkedDeletes: [DeletedObject] = []
    for deleted in deletes {
      if storage.recordsUndo { history.record(.inserted(deleted.object)) }
      guard isMarked(deleted) else { continue }
      unmark(deleted)
      unmarkedDeletes.append(deleted)
    }
    for deleted in detachedDeletes { reinsert(deleted, by: history) }
    for deleted in unmarkedDeletes { addForgottenMembers(of: deleted, by: history) }
    for deleted in detachedDeletes {
      clearMissingTargets(of: deleted)
      // A never saved object has its members in its record.
      if deleted.record.base != nil { addMembers(of: deleted, by: history) }
    }
    let existing = allDetached.filter { obsolete.contains(ObjectIdentifier($0)) }
    return Set(existing.map { history.present($0.record.permanentID, in: self) })
  }

  /// Whether a record still marks the object of a delete for deletion. It is another record than the delete's if a refresh
  /// has reverted the delete, and the undo of the refresh has deleted the object again.
  private final func isMarked(_ deleted: DeletedObject) -> Bool {
    guard let record = deleted.object.pending, record.isTracked else { return false }
    return record === deleted.record || record.kind == .deleted
  }

  /// Finds the deletes whose records exist again, and has the history use the existing objects for these records.
  ///
  /// - Parameter formerIDs: The identifiers of deleted records by the objects inserted in their place.
  private final func notingRestored(
    _ deletes: [DeletedObject], _ formerIDs: [ObjectIdentifier: [ManagedObjectID]], by history: UndoHistory
  ) throws -> Set<ObjectIdentifier> {
    var restored: Set<ObjectIdentifier> = []
    for deleted in deletes {
      let ids = savedIDs(of: deleted, formerIDs)
      guard let object = try restoredObject(of: ids, by: history) else { continue }
      restored.insert(ObjectIdentifier(deleted))
      for id in ids + [deleted.record.permanentID] { history.note(object, reinserting: current(id)) }
    }
    return restored
  }

  /// Finds the saved deletes of records that a later one of the deletes has deleted again, after a parent or another
  /// writer has restored them. The undo of the later delete restores the record.
  private final func notingRepeated(_ deletes: [DeletedObject], by history: UndoHistory) -> Set<ObjectIdentifier> {
    var laterDeletes: [ManagedObjectID: DeletedObject] = [:]
    var repeated: Set<ObjectIdentifier> = []
    for deleted in deletes where deleted.record.base != nil {
      let id = current(deleted.record.permanentID)
      guard let later = laterDeletes[id] else {
        laterDeletes[id] = deleted
        continue
      }
      guard !isMarked(deleted), deleted.object.flags.contains(.detached) else { continue }
      repeated.insert(ObjectIdentifier(deleted))
      // An object that is inserted again is noted with its new identifier.
      if isMarked(later) { history.note(later.object, reinserting: id) }
    }
    return repeated
  }

  /// The identifiers of the saved records that an object had before its delete.
  private final func savedIDs(
    of deleted: DeletedObject, _ formerIDs: [ObjectIdentifier: [ManagedObjectID]]
  ) -> [ManagedObjectID] {
    if deleted.record.base != nil { return [deleted.record.permanentID] }
    return formerIDs[ObjectIdentifier(deleted.object)] ?? []
  }

  /// The object of a record whose delete was saved and that exists again: a parent has reverted the delete that it got
  /// from this context, another writer's merge policy has restored the record, or an undo of a later delete has inserted
  /// the record again. Called after the load of the record.
  ///
  /// - Parameter ids: The identifiers that the record has had.
  private final func restoredObject(of ids: [ManagedObjectID], by history: UndoHistory) throws -> ManagedObject? {
    for id in ids {
      if let object = history.reinserted[current(id)], isPresent(object) { return object }
    }
    for id in ids.map(presentID(of:)) {
      if id.isTemporaryID {
        if inheritedRecord(of: id)?.isDeleted == false { return try fault(for: id, of: id.entity) }
      } else if let object = storage.registry.object(for: id), object.isLoaded, isPresent(object) {
        return object
      }
    }
    return nil
  }

  /// The present identifier of a deleted record. A context notes the permanent identifiers of its own objects only. The
  /// parent that has brought a record back knows the identifier that an undo has given it, and its permanent identifier
  /// after a save.
  private final func presentID(of id: ManagedObjectID) -> ManagedObjectID {
    ancestors.reduce(current(id)) { id, ancestor in
      ancestor.storage.withPending { ancestor.storage.formerIDs.currentOrReinserted(id) }
    }
  }

  private final func unmark(_ deleted: DeletedObject) {
    guard let record = deleted.object.pending else { return }
    storage.pendingRules.objects.remove(deleted.object)
    storage.unmarkDeleted(record, as: record === deleted.record ? deleted.kind : .updated)
    storage.noteChange(record)
  }

  /// Adds the new members that an unsaved list of the object has lost since the delete, because these members were deleted
  /// too, and are inserted again.
  private final func addForgottenMembers(of deleted: DeletedObject, by history: UndoHistory) {
    guard let record = deleted.object.pending else { return }
    for (relationship, ids) in deleted.members {
      let members = ids.map { history.present($0, in: self) }
      let forgotten = members.filter {
        storage.record(for: $0)?.kind == .inserted && record.members[relationship]?.contains($0) != true
      }
      guard !forgotten.isEmpty else { continue }
      storage.withPending {
        record.members[relationship, default: MemberChanges()].restore(Set(forgotten), in: members)
      }
      for list in (deleted.object.collections ?? [:]).values { list.effective = nil }
    }
  }

  /// Gives a deleted object a new temporary identifier, because the identifier of a deleted record is never used again.
  /// A never saved object keeps its identifier.
  private final func renewIdentifier(of deleted: DeletedObject, by history: UndoHistory) {
    guard deleted.record.base != nil else { return }
    let object = deleted.object
    object.recordID = .temporary(for: object.entity)
    object.flags.insert(.temporaryIDExposed)
    // Noted last, because children get the new identifier.
    history.note(object, reinserting: deleted.record.permanentID)
  }

  private final func reinsert(_ deleted: DeletedObject, by history: UndoHistory) {
    let object = deleted.object
    object.flags.subtract([.detached, .deleted, .missing, .unavailable])
    // A look-up of the never saved record has found no row. The record is no record that another writer has deleted.
    storage.vanished.missing.remove(object.recordID)
    object.row = nil
    object.collections = nil
    let record = renewedRecord(of: deleted, by: history)
    record.object = object
    object.pending = record
    storage.registry.insert(new: object)
    storage.track(record)
  }

  /// Makes the unsaved record that inserts a deleted object again. The former record must not be tracked a second time.
  private final func renewedRecord(of deleted: DeletedObject, by history: UndoHistory) -> PendingRecord {
    let (object, former) = (deleted.object, deleted.record)
    let record = PendingRecord(
      inserting: object.recordID,
      Row.make(id: object.recordID, entity: former.entity, version: 0, values: former.draft.values))
    for slot in record.entity.referenceSlots { record.replace(present(record[slot], by: history), at: slot) }
    // The values are values of the user, not defaults: `changedValues()` and merge policies read the changed slots.
    if former.base == nil {
      (record.changed, record.initialState) = (former.changed, former.initialState)
      (record.reservedID, record.mayBeStored) = (former.reservedID, former.mayBeStored)
      record.assignedStore = former.assignedStore
      record.members = former.members.mapValues { $0.mapped { history.present($0, in: self) } }
    } else {
      let blank = record.entity.blankRow
      record.changed = SlotSet((0..<record.draft.count).filter { record[$0] != blank[$0] })
      record.assignedStore = former.permanentID.storeIdentifier
    }
    return record
  }

  /// Loads the records of saved deletes, and the former targets and members of objects that are inserted again, in one
  /// read for each store.
  ///
  /// - Returns: The objects of the records that exist, for the caller to retain.
  private final func loadRecordsAndMembers(
    of deletes: [DeletedObject], _ formerIDs: [ObjectIdentifier: [ManagedObjectID]], by history: UndoHistory
  ) throws -> [ManagedObject] {
    // These members are inserted again too, by other identifiers.
    let deletedIDs = Set(deletes.map(\.record.permanentID))
    var ids: [ManagedObjectID] = []
    for deleted in deletes {
      ids += savedIDs(of: deleted, formerIDs).map(presentID(of:)).filter { !$0.isTemporaryID }
      let members = deleted.record.base == nil ? [] : Array(deleted.members.values.joined())
      for id in deleted.targets + members where !deletedIDs.contains(id) {
        let present = history.present(id, in: self)
        if !present.isTemporaryID { ids.append(present) }
      }
    }
    guard !ids.isEmpty else { return [] }
    return try loading {
      enterUnit()
      return try loadAndRetain(ids, isTarget: false, areUnique: false)
    }
  }

  /// Clears an inserted object's references to records that other writers have deleted. The delete rules of these records
  /// would have cleared the references of a present object.
  private final func clearMissingTargets(of deleted: DeletedObject) {
    guard let record = deleted.object.pending else { return }
    for slot in record.entity.constrainedSlots {
      guard case .reference(let relationship) = record.entity.slots[slot], case .reference(let id) = record[slot],
        !isAvailable(id)
      else { continue }
      storage.withPending { for cleared in relationship.slotsWithPosition { record.replace(.null, at: cleared) } }
    }
  }

  /// Whether a record exists, in a store or as an unsaved insert, and is not deleted here.
  private final func isAvailable(_ id: ManagedObjectID) -> Bool {
    guard let object = try? fault(for: id, of: id.entity), (try? object.loadRow()) != nil else { return false }
    return isPresent(object)
  }

  /// Adds the former members that still exist to an object that is inserted again.
  private final func addMembers(of deleted: DeletedObject, by history: UndoHistory) {
    guard let record = deleted.object.pending else { return }
    for (relationship, ids) in deleted.members {
      var changes = MemberChanges()
      for id in ids {
        let id = history.present(id, in: self)
        // Another writer may have deleted the member.
        if isAvailable(id) { changes.add(id, comesLast: true) }
      }
      storage.withPending { record.members[relationship] = changes }
    }
  }
}

extension DeletedObject {
  /// The targets of the object's to-one relationships that stores require to exist.
  fileprivate var targets: [ManagedObjectID] {
    record.entity.constrainedSlots.compactMap { slot in
      if case .reference(let id) = record[slot] { id } else { nil }
    }
  }
}
