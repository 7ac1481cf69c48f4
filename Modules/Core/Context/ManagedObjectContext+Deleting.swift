// Delete rules.

extension ManagedObjectContext {
  /// Applies the delete rules of all deleted objects, and of the objects that the rules delete.
  final func applyPendingDeleteRules() throws {
    guard !storage.pendingDeletes.isEmpty else { return }
    // Retains the objects whose rows were loaded in bulk until all rules are applied.
    var kept: [ManagedObject] = []
    var forgotten: Set<ManagedObjectID> = []
    while !storage.pendingDeletes.isEmpty {
      let deleted = storage.pendingDeletes
      for (entity, group) in Dictionary(grouping: deleted, by: \.entity) {
        for relationship in entity.relationships { kept += try prefetch(relationship.name, of: group) }
      }
      storage.pendingDeletes = []
      for object in deleted where try applyDeleteRules(of: object) { forgotten.insert(object.recordID) }
    }
    withExtendedLifetime(kept) {}
    // Relationships with an inverse have removed the members already, through the inverse.
    if !forgotten.isEmpty, hasListsWithoutInverse(of: forgotten) { forgetMembers(forgotten) }
  }

  /// - Returns: Whether the object was detached at once, because its record was never saved.
  private final func applyDeleteRules(of object: ManagedObject) throws -> Bool {
    for relationship in object.entity.relationships {
      for target in try targets(of: relationship, from: object) {
        switch relationship.deleteRule {
        case .nullify: try release(target, from: object, relationship)
        case .cascade:
          try release(target, from: object, relationship)
          delete(target)
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
