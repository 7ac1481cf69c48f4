// The parent's side of a child's delete.

extension ManagedObjectContext {
  /// Deletes an object of this context that a child has deleted. The child has applied the delete rules already, but
  /// only to the targets and members that it knew.
  ///
  /// - Returns: Whether the object may have targets and members that this context added later. The caller schedules the
  ///   delete rules of the object, which find these, after the other changes of the child.
  final func receiveDelete(_ record: PendingRecord, of object: ManagedObject) throws -> Bool {
    guard object.pending?.kind != .deleted else { return false }
    let own = try object.changeable()
    storage.withPending { own.noteOvertaken(of: record, current: present) }
    let mayHaveTargets = own.hasRelatedEdits
    if mayHaveTargets { try removeTargets(leaving: object, own, before: record) }
    if storage.recordsUndo { recordUndo(ofDeleting: object, own) }
    if !mayHaveTargets, own.base == nil, !isParentsInsert(own) {
      detachDeleted(object)
      // As after the delete rules: observers know the insert from an earlier notification.
      if own.wasListed { events.noteDeleted(object) }
      return false
    }
    storage.withPending { storage.noteLinks(ofDeleted: own) }
    storage.markDeleted(own, readByChild: own.versionReadByChild)
    storage.withPending { storage.noteMove(of: own, byChildOn: record.base) }
    return mayHaveTargets
  }

  /// Removes the targets and members from an object that the child has removed before its delete. The delete rules must
  /// not reach them: they have other owners, or none.
  private final func removeTargets(
    leaving object: ManagedObject, _ own: PendingRecord, before record: PendingRecord
  ) throws {
    if let base = record.base {
      // A target that this context has set later is no target that the child has removed.
      for slot in own.entity.referenceSlots
      where record.changed.contains(slot) && own[slot] != .null && own[slot] == present(base[slot]) {
        try object.write(.null, at: slot)
      }
    }
    for (relationship, changes) in record.members {
      for id in changes.removed where changes.contains(id) == false {
        try object.changeMembers(of: relationship, .remove(current(id)))
      }
    }
  }

  /// Loads what ``receiveDelete(_:of:)`` reads of an object.
  final func loadMembers(leaving object: ManagedObject, before record: PendingRecord) throws {
    // The history keeps the members for an undo. A read that fails later would lose them.
    if storage.recordsUndo, object.pending?.kind != .deleted {
      for relationship in object.entity.relationships where relationship.isToMany {
        _ = try object.memberList(of: relationship)
      }
    }
    guard object.pending?.hasRelatedEdits == true else { return }
    for (relationship, changes) in record.members {
      for id in changes.removed where changes.contains(id) == false {
        try object.loadSide(for: .remove(current(id)), of: relationship)
      }
    }
  }

  /// Records the references without an inverse to the objects that a child deletes. The child's changes do not contain
  /// these references, because no delete rule clears them.
  ///
  /// - Throws: Errors of the reads. Called before the child's changes apply, so that a failure leaves this context as it
  ///   was.
  final func recordUndo(
    ofReferencesToDeleted records: [PendingRecord], _ targets: [ManagedObjectID: ManagedObject]
  ) throws {
    let deleted = records.compactMap { $0.kind == .deleted ? targets[$0.id] : nil }
    let ids = deleted.filter { $0.pending?.kind != .deleted }.map(\.recordID)
    if !ids.isEmpty { try recordUndo(ofReferencesTo: ids) }
  }

  private final func recordUndo(ofDeleting object: ManagedObject, _ record: PendingRecord) {
    let deleted = DeletedObject(object, record)
    for relationship in object.entity.relationships where relationship.isToMany {
      deleted.members[relationship] = try? members(of: relationship, beforeDeleting: object)
    }
    storage.undo?.record(.deleted(deleted))
  }

  /// The members that an undo of a delete gives back to an object. The child's save may have deleted some of them before
  /// the object, so that a read of the list leaves them out.
  private final func members(
    of relationship: RelationshipDescription, beforeDeleting object: ManagedObject
  ) throws -> [ManagedObjectID] {
    try object.removeDeletedMembers(of: relationship)
    return try object.changedMemberIDs(of: relationship).filter { id in
      let member = storage.record(for: id)
      if member?.kind == .deleted, relationship.inverse != nil { return true }
      return !storage.isLeftOut(member, of: relationship, owner: object.recordID)
    }
  }
}
