// The undo of deletes.

extension ManagedObjectContext {
  /// Reverts deletes: an unsaved delete by unmarking the record, a saved delete by inserting the object again. A record
  /// that another writer has deleted too stays deleted.
  ///
  /// - Throws: Errors of loading members. No delete is reverted then.
  final func restore(_ deletes: [DeletedObject], by history: UndoHistory) throws {
    let deletes = deletes.filter { !$0.record.isDeletedElsewhere }
    // The saved deletes, and deletes of objects that were never saved.
    let detachedDeletes = deletes.filter { !isMarked($0) && $0.object.flags.contains(.detached) }
    // A read that fails later would leave members out as if other writers had deleted them.
    let members = try loadMembers(of: detachedDeletes, by: history)
    defer { withExtendedLifetime(members) {} }
    // The records refer to each other. So all identifiers are renewed first, then the records, then their members.
    for deleted in detachedDeletes { renewIdentifier(of: deleted, by: history) }
    for deleted in deletes {
      if storage.recordsUndo { history.record(.inserted(deleted.object)) }
      if isMarked(deleted) { unmark(deleted) }
    }
    for deleted in detachedDeletes { reinsert(deleted, by: history) }
    for deleted in detachedDeletes where deleted.record.base != nil {
      clearMissingTargets(of: deleted)
      addMembers(of: deleted, by: history)
    }
  }

  /// Whether a record still marks the object of a delete for deletion. It is another record than the delete's if a refresh
  /// has reverted the delete, and the undo of the refresh has deleted the object again.
  private final func isMarked(_ deleted: DeletedObject) -> Bool {
    guard let record = deleted.object.pending, record.isTracked else { return false }
    return record === deleted.record || record.kind == .deleted
  }

  private final func unmark(_ deleted: DeletedObject) {
    guard let record = deleted.object.pending else { return }
    storage.pendingDeletes.remove(deleted.object)
    storage.unmarkDeleted(record, as: record === deleted.record ? deleted.kind : .updated)
    storage.noteChange(record)
  }

  /// Gives a deleted object a new temporary identifier, because the identifier of a deleted record is never used again.
  /// A never saved object keeps its identifier.
  private final func renewIdentifier(of deleted: DeletedObject, by history: UndoHistory) {
    guard deleted.record.base != nil else { return }
    let object = deleted.object
    history.note(object, reinserting: deleted.record.permanentID)
    object.recordID = .temporary(for: object.entity)
    object.flags.insert(.temporaryIDExposed)
  }

  private final func reinsert(_ deleted: DeletedObject, by history: UndoHistory) {
    let object = deleted.object
    object.flags.subtract([.detached, .deleted, .missing, .unavailable])
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
      record.reservedID = former.reservedID
      record.assignedStore = former.assignedStore
      record.members = former.members.mapValues { $0.mapped { history.present($0, in: self) } }
    } else {
      let blank = record.entity.blankRow
      record.changed = SlotSet((0..<record.draft.count).filter { record[$0] != blank[$0] })
      record.assignedStore = former.permanentID.storeIdentifier
    }
    return record
  }

  /// Loads the former targets and members of objects that are inserted again, in one read for each store.
  ///
  /// - Returns: The targets and members that still exist, for the caller to retain.
  private final func loadMembers(of deletes: [DeletedObject], by history: UndoHistory) throws -> [ManagedObject] {
    // These members are inserted again too, by other identifiers.
    let deletedIDs = Set(deletes.map(\.record.permanentID))
    var ids: [ManagedObjectID] = []
    for deleted in deletes where deleted.record.base != nil {
      for id in deleted.targets + deleted.members.values.joined() where !deletedIDs.contains(id) {
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

  /// Gives an object that is inserted again its former members, as far as they still exist.
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
