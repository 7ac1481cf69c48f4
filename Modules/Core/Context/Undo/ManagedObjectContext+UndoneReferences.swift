// The recording of references without an inverse to deleted records, for an undo of the delete. No delete rule clears
// such references, so that the history has no change of their owners. The save of the delete removes the members of
// to-many relationships; a to-one reference stays, unless its target was never saved.

extension ManagedObjectContext {
  /// Records the references to deleted records in relationships without an inverse. Called before the delete rules of
  /// the records are applied, and before a child's deletes are applied.
  ///
  /// Costs a fetch for each relationship without an inverse whose destination is the records' hierarchy.
  final func recordUndo(ofReferencesTo ids: [ManagedObjectID]) throws {
    for entity in try model().entities {
      for relationship in entity.relationships where relationship.inverse == nil && relationship.entity === entity {
        let targets = ids.filter { $0.entity.root === relationship.destination.root }
        guard !targets.isEmpty else { continue }
        for owner in try owners(of: targets, through: relationship) {
          try owner.recordUndo(ofLosing: Set(targets), from: relationship)
        }
      }
    }
  }

  /// The objects that refer to the records, in their saved or in their unsaved state.
  private final func owners(
    of ids: [ManagedObjectID], through relationship: RelationshipDescription
  ) throws -> [ManagedObject] {
    let unsaved = try unsavedOwners(of: Set(ids), through: relationship)
    let references = ids.map(current).filter { !$0.isTemporaryID }.map(AttributeValue.reference)
    guard !references.isEmpty, try isHeld(relationship.entity) else { return unsaved }
    let path = PropertyPath(names: [relationship.name])
    var request = FetchRequest<ManagedObject>(entityName: relationship.entity.name)
    request.predicate =
      relationship.isToMany
      ? .quantified(.any, path, .membership(.path(.own), in: references)) : .membership(.path(path), in: references)
    // A fetch with unsaved changes finds no owner by a deleted member.
    request.includesPendingChanges = false
    let found = Set(unsaved)
    return unsaved + (try fetch(request).filter { !found.contains($0) && isShown($0) })
  }

  /// The objects with unsaved references to the records, in this context or in a parent.
  private final func unsavedOwners(
    of ids: Set<ManagedObjectID>, through relationship: RelationshipDescription
  ) throws -> [ManagedObject] {
    var owners = storage.records.compactMap { $0.refers(to: ids, through: relationship) ? $0.object : nil }
    var found = Set(owners)
    var ancestor = readParent
    while let context = ancestor {
      let storage = context.storage
      let inherited = storage.withPending {
        storage.records.filter { $0.refers(to: ids, through: relationship) }.map { (id: $0.id, entity: $0.entity) }
      }
      for (id, entity) in inherited {
        do {
          let owner = try fault(for: id, of: entity)
          try owner.loadRow()
          if isShown(owner), found.insert(owner).inserted { owners.append(owner) }
        } catch let error as CoherenceError where error.isOfMissingRecord {
          // The parent has discarded the insert of the owner since.
        }
      }
      ancestor = context.parent
    }
    return owners
  }

  /// Whether neither this context nor a parent has deleted an object.
  private final func isShown(_ object: ManagedObject) -> Bool {
    isPresent(object) && inheritedRecord(of: object.recordID)?.isDeleted != true
  }
}

extension PendingRecord {
  /// Whether the unsaved state has a reference to one of the records.
  fileprivate func refers(to ids: Set<ManagedObjectID>, through relationship: RelationshipDescription) -> Bool {
    guard kind != .deleted, entity.isKind(of: relationship.entity) else { return false }
    guard let slot = relationship.slot else {
      return members[relationship]?.added.contains(where: ids.contains) == true
    }
    guard case .reference(let id) = self[slot] else { return false }
    return ids.contains(id)
  }
}

extension ManagedObject {
  /// Records that a relationship without an inverse loses members, or its target.
  final func recordUndo(ofLosing ids: Set<ManagedObjectID>, from relationship: RelationshipDescription) throws {
    guard let slot = relationship.slot else {
      // The list keeps a member that the group has added before the delete. The undo removes this member.
      let list = storage?.undo?.list(of: relationship, self)
      for id in try changedMemberIDs(of: relationship) where ids.contains(id) && list?.hasAdded(id) != true {
        try recordUndo(of: .remove(id), relationship)
      }
      return
    }
    let target = try loadedValue(at: slot)
    // An unsaved edit may have replaced the saved reference.
    guard case .reference(let id) = target, ids.contains(managedObjectContext?.current(id) ?? id) else { return }
    recordUndo(of: slot, before: target)
  }
}
