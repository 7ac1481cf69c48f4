// The deletes of objects and their delete rules. A delete marks the record; the rules follow before the next fetch, save
// or read of a relationship with a deleted member or target.

extension ManagedObjectContext {
  /// Applies the delete rules of all deleted objects, and of the objects that the rules delete.
  final func applyPendingDeleteRules() throws {
    guard storage.hasPendingDeleteRules else { return }
    // Retains the objects whose rows were loaded in bulk until all rules are applied.
    var loadedTargets: [ManagedObject] = []
    // The deleted records that were never saved.
    var detachedIDs: Set<ManagedObjectID> = []
    // Each round applies the rules of the records that the round before has deleted.
    while storage.hasPendingDeleteRules {
      // The lists are emptied first, because hooks called by the reads may delete further objects.
      let (deleted, records) = storage.pendingRules.takeAll()
      do {
        if storage.recordsUndo { try recordUndo(ofReferencesTo: (deleted.map(\.recordID) + records.map(\.id))) }
        for (entity, group) in deleted.grouped(by: \.entity) {
          loadedTargets += try loadTargets(of: group, entity)
        }
        for object in deleted where try applyDeleteRules(of: object, besides: detachedIDs) {
          detachedIDs.insert(object.recordID)
        }
        loadedTargets += try applyDeleteRules(of: records)
      } catch {
        // A completed part of the round may have detached objects, and hooks may have reverted deletes. Neither has
        // rules to apply any more.
        storage.pendingRules.putBack((objects: deleted, records: records))
        // No later call finds the objects that this call has detached.
        try? forgetNeverSaved(detachedIDs)
        throw error
      }
    }
    withExtendedLifetime(loadedTargets) {}
    try forgetNeverSaved(detachedIDs)
  }

  /// Applies the pending delete rules before a read. The rules of deleted records of detached stores wait: the records
  /// of other stores do not need them, and a save throws.
  final func applyReadableDeleteRules() throws {
    guard storage.hasPendingDeleteRules else { return }
    let readableIDs = Set(readable(storage.pendingRules.ids) { $0 })
    let waiting = storage.pendingRules.takeAll(except: readableIDs)
    // A hook may have reverted deletes.
    defer { storage.pendingRules.putBack(waiting) }
    try applyPendingDeleteRules()
  }

  /// Applies the pending delete rules before a read of the relationships of a record. Throws for a record of a detached
  /// store whose rules wait.
  final func applyDeleteRules(beforeReading id: ManagedObjectID) throws {
    if readable([id], { $0 }).isEmpty { try applyPendingDeleteRules() } else { try applyReadableDeleteRules() }
  }

  /// Marks an object for deletion, after its hook.
  ///
  /// - Parameter isPrepared: Whether the hook was called already.
  final func delete(_ object: ManagedObject, isPrepared: Bool) {
    func isDeletable() -> Bool {
      object.flags.isDisjoint(with: [.detached, .preparingDeletion]) && object.pending?.kind != .deleted
    }
    guard isDeletable() else { return }
    do {
      // Loaded first, because the hook must not be called for a missing record.
      try object.loadRow()
      if !isPrepared { prepareForDeletion(of: object) }
      // The hook may have deleted the object, rolled back or reset the context.
      guard isDeletable() else { return }
      let record = try object.changeable()
      if storage.recordsUndo { storage.undo?.record(.deleted(DeletedObject(object, record))) }
      storage.markDeleted(record)
      scheduleDeleteRules(of: object)
    } catch let error as CoherenceError where error.isOfMissingRecord {
      // The record is deleted in the store already.
    } catch {
      object.becomeUnavailable(error, losesChange: true)
    }
  }

  /// Schedules the delete rules of a deleted object: the next fetch, save, or read of a reference to the object applies
  /// them.
  final func scheduleDeleteRules(of object: ManagedObject) {
    storage.pendingRules.add(object)
    // The next read of a reference to the record applies the rules.
    storage.retainedReads.removeTarget(object)
  }

  /// Calls `prepareForDeletion` of the target of a cascade while the target's relationships are still complete.
  ///
  /// - Returns: Whether the object could be loaded, so that its hook was called.
  private final func prepareCascade(to target: ManagedObject) -> Bool {
    guard (try? target.loadRow()) != nil else { return false }
    prepareForDeletion(of: target)
    return true
  }

  /// Deletes the target of a cascade, after its hook and without its reference to the owner.
  ///
  /// - Parameter isDeleting: Returns whether the owner is still marked for deletion. The target's hook may have
  ///   reverted the delete.
  final func cascade(
    to target: ManagedObject, from owner: ManagedObjectID, _ relationship: RelationshipDescription,
    while isDeleting: () -> Bool
  ) throws {
    let isPrepared = prepareCascade(to: target)
    guard isDeleting() else { return }
    try unlink(target, from: owner, relationship)
    delete(target, isPrepared: isPrepared)
  }

  /// Applies the delete rules of one object.
  ///
  /// - Parameter detachedIDs: The deleted records that were never saved, and whose objects have left the context.
  /// - Returns: Whether the object was detached at once, because its record was never saved.
  private final func applyDeleteRules(
    of object: ManagedObject, besides detachedIDs: Set<ManagedObjectID>
  ) throws -> Bool {
    for relationship in object.entity.relationships {
      // A hook may have reverted the delete, by a rollback or a refresh.
      guard object.pending?.kind == .deleted else { return false }
      guard storage.recordsUndo || relationship.deletesReachTargets else { continue }
      let targets = try targets(of: relationship, from: object, besides: detachedIDs)
      if storage.recordsUndo, relationship.isToMany {
        storage.undo?.record(try object.changedMemberIDs(of: relationship), of: relationship, object)
      }
      for target in targets {
        switch relationship.appliedDeleteRule {
        case .nullify: try unlink(target, from: object.recordID, relationship)
        case .cascade:
          try cascade(to: target, from: object.recordID, relationship) { object.pending?.kind == .deleted }
          guard object.pending?.kind == .deleted else { return false }
        case .deny, .noAction: break
        }
      }
    }
    guard let record = object.pending, record.base == nil, isUnchangedInParents(object.recordID) else { return false }
    detachDeleted(object)
    // Observers know the insert from an earlier notification. No later notification lists the detached record itself.
    if record.wasListed { events.noteDeleted(object) }
    return true
  }

  /// The targets and members of a deleted object that are not deleted themselves.
  ///
  /// - Parameter detachedIDs: Deleted records that were never saved. A look-up of their permanent identifiers would
  ///   report them as missing, and the unsaved lists would lose members that an undo brings back.
  private final func targets(
    of relationship: RelationshipDescription, from object: ManagedObject, besides detachedIDs: Set<ManagedObjectID>
  ) throws -> [ManagedObject] {
    let ids: [ManagedObjectID]
    if relationship.isToMany {
      ids = try object.memberIDs(of: relationship)
    } else if case .reference(let id) = try object.loadedValue(at: relationship.slot!) {
      ids = [id]
    } else {
      ids = []
    }
    // Missing and deleted targets need no rule.
    return ids.compactMap { id in
      let isDeleted = storage.record(for: id)?.kind == .deleted || detachedIDs.contains(id)
      return isDeleted ? nil : try? object.member(id, of: relationship)
    }
  }

  /// Removes the deleted object from the inverse relationship of a target.
  final func unlink(
    _ target: ManagedObject, from owner: ManagedObjectID, _ relationship: RelationshipDescription
  ) throws {
    guard let inverse = relationship.inverse, !target.flags.contains(.detached),
      !hasLeft(owner, target, relationship, inverse)
    else { return }
    try target.removeRelated(owner, of: inverse)
  }

  /// Whether a deleted object has left the list of a target of an unsaved reference or link already: a redo reverts the
  /// list before it deletes the object. The list below the changes never had the object, so that a removal would be an
  /// edit without an effect.
  private final func hasLeft(
    _ owner: ManagedObjectID, _ target: ManagedObject, _ relationship: RelationshipDescription,
    _ inverse: RelationshipDescription
  ) -> Bool {
    guard inverse.isToMany, let record = storage.record(for: owner) else { return false }
    let isUnsaved =
      if let slot = relationship.slot {
        record.changed.contains(slot)
      } else {
        record.members[relationship].map { $0.hasAdded(target.recordID) } == true
      }
    return isUnsaved && target.pending?.members[inverse]?.contains(owner) != true
  }

  /// Detaches a deleted object from the context.
  final func detachDeleted(_ object: ManagedObject) {
    if let record = object.pending {
      storage.untrack(record)
      record.isSilent = true
    }
    object.pending = nil
    object.row = nil
    object.collections = nil
    object.flags.formUnion([.detached, .deleted])
    storage.unregister(object)
  }
}

extension RelationshipDescription {
  /// The delete rule with its effect in a context. Lists have no missing members: a record with the rule
  /// ``DeleteRule/noAction`` leaves the lists of its targets, as under ``DeleteRule/nullify``.
  var appliedDeleteRule: DeleteRule {
    deleteRule == .noAction && inverse?.isToMany == true ? .nullify : deleteRule
  }

  /// Whether the delete of an owner changes or deletes targets of the relationship.
  fileprivate var deletesReachTargets: Bool {
    switch appliedDeleteRule {
    case .cascade: true
    case .nullify: inverse != nil
    case .deny, .noAction: false
    }
  }
}
