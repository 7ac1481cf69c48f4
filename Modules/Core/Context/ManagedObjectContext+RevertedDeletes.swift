// The revert of an unsaved delete, by a refresh or for the edit of a child. The delete rules have cleared references to
// the object, and have removed it from lists.

extension ManagedObjectContext {
  /// Reverts the unsaved delete of an object. The records that a cascade has deleted stay deleted.
  ///
  /// - Throws: Errors of loading related objects.
  final func revertDelete(of object: ManagedObject) throws {
    guard let record = object.pending, record.kind == .deleted else { return }
    storage.pendingRules.remove(object, record)
    if storage.recordsUndo { storage.undo?.recordRevert(ofDeleting: object) }
    storage.unmarkDeleted(record, as: record.base == nil ? .inserted : .updated)
    storage.noteChange(record)
    try reconnect(object)
  }

  /// Relates an object whose delete was reverted with its targets and members again. Members that are deleted, or that
  /// another edit has given to another owner, leave the object's lists.
  ///
  /// - Throws: Errors of loading related objects.
  final func reconnect(_ object: ManagedObject) throws {
    for relationship in object.entity.relationships {
      guard let inverse = relationship.inverse else { continue }
      if let slot = relationship.slot {
        guard case .reference(let id) = try object.loadedValue(at: slot) else { continue }
        if let target = try presentObject(id, of: relationship, from: object) {
          if try !lead(inverse, of: target, to: object) { try object.write(.null, at: slot) }
        } else if storage.record(for: current(id))?.kind == .deleted {
          // A reference to a record that this context deletes too would refuse the save.
          try object.write(.null, at: slot)
        }
      } else {
        for id in try object.changedMemberIDs(of: relationship) {
          if let member = try presentObject(id, of: relationship, from: object),
            try lead(inverse, of: member, to: object)
          {
            continue
          }
          try object.changeMembers(of: relationship, .remove(id))
        }
      }
    }
  }

  /// The related object of an identifier; `nil` for a missing or deleted record.
  private final func presentObject(
    _ id: ManagedObjectID, of relationship: RelationshipDescription, from object: ManagedObject
  ) throws -> ManagedObject? {
    do {
      let related = try object.member(id, of: relationship)
      guard isPresent(related) else { return nil }
      try related.loadRow()
      return isPresent(related) ? related : nil
    } catch let error as CoherenceError where error.isOfMissingRecord {
      return nil
    }
  }

  /// Has a relationship of a related object lead to an object again.
  ///
  /// - Returns: `false` if another edit has given the related object another target.
  private final func lead(
    _ relationship: RelationshipDescription, of related: ManagedObject, to object: ManagedObject
  ) throws -> Bool {
    guard let slot = relationship.slot else {
      if try !related.hasMember(object.recordID, of: relationship) {
        try related.changeMembers(of: relationship, .add(object.recordID))
      }
      return true
    }
    let target = AttributeValue.reference(object.recordID)
    let present = try related.loadedValue(at: slot)
    if present == target { return true }
    guard present == .null, let record = related.pending, record.base.map({ $0[slot] == target }) ?? true else {
      return false
    }
    try related.write(target, at: slot)
    return true
  }
}
