// The recording of references without an inverse to deleted records. No delete rule clears such references. The save of
// the delete removes the members of to-many relationships; a to-one reference stays, unless its target was never saved.

extension ManagedObjectContext {
  /// Records the references to deleted records in relationships without an inverse.
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

  private final func owners(
    of ids: [ManagedObjectID], through relationship: RelationshipDescription
  ) throws -> [ManagedObject] {
    let references = ids.map(AttributeValue.reference)
    let path = PropertyPath(names: [relationship.name])
    let predicate: FetchPredicate =
      relationship.isToMany
      ? .quantified(.any, path, .membership(.path(.own), in: references)) : .membership(.path(path), in: references)
    guard try isHeld(relationship.entity) else { return unsavedOwners(of: Set(ids), through: relationship) }
    let saved = try fetch(FetchRequest<ManagedObject>(entityName: relationship.entity.name).filter(predicate))
    let found = Set(saved)
    return saved + unsavedOwners(of: Set(ids), through: relationship).filter { !found.contains($0) }
  }

  /// The unsaved objects that refer to the records. The fetch does not find them, because it sees them without deleted
  /// members.
  private final func unsavedOwners(
    of ids: Set<ManagedObjectID>, through relationship: RelationshipDescription
  ) -> [ManagedObject] {
    storage.records.compactMap { record in
      guard record.kind != .deleted, record.entity.isKind(of: relationship.entity) else { return nil }
      if let slot = relationship.slot {
        guard case .reference(let id) = record[slot], ids.contains(id) else { return nil }
      } else if record.members[relationship]?.added.contains(where: ids.contains) != true {
        return nil
      }
      return record.object
    }
  }
}

extension ManagedObject {
  /// Records that a relationship without an inverse loses members, or its target.
  final func recordUndo(ofLosing ids: Set<ManagedObjectID>, from relationship: RelationshipDescription) throws {
    if let slot = relationship.slot { return recordUndo(of: slot, before: try loadedValue(at: slot)) }
    for id in try changedMemberIDs(of: relationship) where ids.contains(id) {
      try recordUndo(of: .remove(id), relationship)
    }
  }
}
