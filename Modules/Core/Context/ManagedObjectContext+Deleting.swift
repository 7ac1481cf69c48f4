// Delete rules.

extension ManagedObjectContext {
  /// Applies the delete rules of all deleted objects, and of the objects that the rules delete.
  final func applyPendingDeleteRules() throws {
    guard !storage.pendingDeletes.isEmpty else { return }
    // Retains the objects whose rows were loaded in bulk until all rules are applied.
    var kept: [ManagedObject] = []
    var forgotten: Set<ManagedObjectID> = []
    while !storage.pendingDeletes.isEmpty {
      // Taken first: hooks that the reads call may delete further objects.
      let deleted = storage.pendingDeletes
      storage.pendingDeletes = []
      do {
        if storage.recordsUndo { try recordUndo(ofReferencesTo: deleted.map(\.recordID)) }
        for (entity, group) in Dictionary(grouping: deleted, by: \.entity) {
          for relationship in entity.relationships { kept += try prefetch(relationship.name, of: group) }
        }
        for object in deleted where try applyDeleteRules(of: object) { forgotten.insert(object.recordID) }
      } catch {
        storage.pendingDeletes = deleted + storage.pendingDeletes
        throw error
      }
    }
    withExtendedLifetime(kept) {}
    // Relationships with an inverse have removed the members already, through the inverse.
    if !forgotten.isEmpty, hasListsWithoutInverse(of: forgotten) { forgetMembers(forgotten) }
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
      // First, because the hook is not called for a record that does not exist any more.
      try object.loadRow()
      if !isPrepared { prepareForDeletion(of: object) }
      // The hook may have rolled back or reset the context.
      guard isDeletable() else { return }
      let record = try object.changeable()
      if storage.recordsUndo { storage.undo?.record(.deleted(DeletedObject(object, record))) }
      storage.markDeleted(record)
      storage.pendingDeletes.append(object)
    } catch let error as CoherenceError where error.code == .objectNotFound || error.code == .objectDeleted {
      // The record is deleted in the store already.
    } catch {
      object.becomeUnavailable(error, losesChange: true)
    }
  }

  /// Calls the hook of an object that a delete rule is about to delete, while its relationships are complete.
  ///
  /// - Returns: Whether the object could be loaded, so that its hook was called.
  private final func prepareCascade(to target: ManagedObject) -> Bool {
    guard (try? target.loadRow()) != nil else { return false }
    prepareForDeletion(of: target)
    return true
  }

  /// - Returns: Whether the object was detached at once, because its record was never saved.
  private final func applyDeleteRules(of object: ManagedObject) throws -> Bool {
    for relationship in object.entity.relationships {
      // A hook may have taken the delete back, by a rollback or a refresh.
      guard object.pending?.kind == .deleted else { return false }
      let targets = try targets(of: relationship, from: object)
      if storage.recordsUndo, relationship.isToMany {
        storage.undo?.record(try object.changedMemberIDs(of: relationship), of: relationship, object)
      }
      for target in targets {
        switch relationship.deleteRule {
        case .nullify: try release(target, from: object, relationship)
        case .cascade:
          let isPrepared = prepareCascade(to: target)
          guard object.pending?.kind == .deleted else { return false }
          try release(target, from: object, relationship)
          delete(target, isPrepared: isPrepared)
        case .deny, .noAction: break
        }
      }
    }
    guard let record = object.pending, record.base == nil, isUnknownBelow(object.recordID) else { return false }
    detachDeleted(object)
    return true
  }

  /// Whether a relationship without an inverse may have the records as members.
  private final func hasListsWithoutInverse(of ids: Set<ManagedObjectID>) -> Bool {
    let roots = Set(ids.map { ObjectIdentifier($0.entity.root) })
    return persistentStoreCoordinator?.managedObjectModel.isNamedWithoutInverse(roots) == true
  }

  private final func targets(
    of relationship: RelationshipDescription, from object: ManagedObject
  ) throws -> [ManagedObject] {
    let ids: [ManagedObjectID]
    if relationship.isToMany {
      ids = try object.memberIDs(of: relationship)
    } else if case .reference(let id) = try object.loadedValue(at: relationship.slot!) {
      ids = [id]
    } else {
      ids = []
    }
    // A target without a record needs no rule.
    return ids.compactMap { try? object.member($0, of: relationship) }
  }

  /// Removes the deleted object from the inverse relationship of a target.
  private final func release(
    _ target: ManagedObject, from object: ManagedObject, _ relationship: RelationshipDescription
  ) throws {
    guard let inverse = relationship.inverse, target.pending?.kind != .deleted, !target.flags.contains(.detached) else {
      return
    }
    do {
      try target.removeRelated(object, of: inverse)
    } catch let error as CoherenceError where error.code == .objectNotFound || error.code == .objectDeleted {
      // Another context deleted the target, and the link with it.
    }
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
