// The undo of deletes whose records exist again, because a parent or another writer has restored them. The delete rules
// have changed the related records alone, so that the other steps of the group lead to the restored records from one side.

extension ManagedObjectContext {
  /// Whether a step changes a value or an ordered list of a record that exists again. The record keeps these, except for
  /// changes of the present object, which the group has made after the record was restored.
  final func changesValue(
    _ step: UndoStep, ofOneOf existing: Set<ManagedObjectID>, by history: UndoHistory
  ) -> Bool {
    switch step {
    case .value(let object, _, _, _): isObsolete(object, ofOneOf: existing, by: history)
    case .list(let list): isObsolete(list.object, ofOneOf: existing, by: history)
    case .added, .removed, .inserted, .deleted: false
    }
  }

  /// Whether an object had the record of one of the identifiers before the record's delete.
  private final func isObsolete(
    _ object: ManagedObject, ofOneOf existing: Set<ManagedObjectID>, by history: UndoHistory
  ) -> Bool {
    !isPresent(object) && existing.contains(history.present(object.recordID, in: self))
  }

  /// Has both sides of the relationships between records that exist again and the records of reverted steps agree.
  ///
  /// - Throws: Errors of loading related objects.
  final func relate(_ existing: Set<ManagedObjectID>, in steps: [UndoStep], by history: UndoHistory) throws {
    for step in steps {
      do {
        try relate(existing, in: step, by: history)
      } catch let error as CoherenceError where error.isOfMissingRecord {
        // Another writer has deleted the record of the step.
      }
    }
  }

  private final func relate(_ existing: Set<ManagedObjectID>, in step: UndoStep, by history: UndoHistory) throws {
    switch step {
    case .value(let recorded, let slot, .reference(let id), _):
      let id = history.present(id, in: self)
      guard existing.contains(id), case .reference(let relationship) = recorded.entity.slots[slot],
        let object = try presentObject(recorded, by: history), try object.loadedValue(at: slot) == .reference(id)
      else { return }
      try relate(object, with: id, of: relationship)
    case .removed(let recorded, let relationship, let id):
      let id = history.present(id, in: self)
      guard existing.contains(id), let object = try presentObject(recorded, by: history),
        object.pending?.members[relationship]?.contains(id) == true
      else { return }
      try relate(object, with: id, of: relationship)
    case .list(let list):
      let ids = list.removed.map { history.present($0, in: self) }.filter(existing.contains)
      guard !ids.isEmpty, let object = try presentObject(list.object, by: history) else { return }
      let members = Set(try object.changedMemberIDs(of: list.relationship))
      for id in ids where members.contains(id) { try relate(object, with: id, of: list.relationship) }
    case .value, .added, .inserted, .deleted: return
    }
  }

  /// Has a restored record lead to an object that leads to it. A restored record with a reference to another owner leaves
  /// the object's list.
  private final func relate(
    _ object: ManagedObject, with id: ManagedObjectID, of relationship: RelationshipDescription
  ) throws {
    guard let inverse = relationship.inverse else { return }
    let restored = try object.member(id, of: relationship)
    let target = AttributeValue.reference(object.recordID)
    guard let slot = inverse.slot else {
      let isMember =
        try inverse.isOrdered
        ? restored.changedMemberIDs(of: inverse).contains(object.recordID)
        : lists(object.recordID, in: inverse, of: restored)
      if !isMember { try restored.changeMembers(of: inverse, .add(object.recordID)) }
      return
    }
    let former = try restored.loadedValue(at: slot)
    guard former != target else { return }
    guard !relationship.isToMany else { return try object.changeMembers(of: relationship, .remove(id)) }
    try restored.loadedPartner(former, of: inverse)?.removeRelated(restored, of: relationship)
    try restored.write(target, at: slot)
  }
}
