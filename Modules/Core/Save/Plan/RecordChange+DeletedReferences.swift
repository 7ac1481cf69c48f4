extension RecordChange {
  /// The changes without references to records that they delete.
  ///
  /// A context applies its delete rules to the members that it knows. A change rebased onto a row of another writer may
  /// have a later reference to a deleted record. The rule ``DeleteRule/nullify`` clears such a reference, as it does for
  /// the members that the context knows.
  ///
  /// - Throws: ``ErrorCode/danglingReference`` when a rule other than ``DeleteRule/nullify`` decides about the record,
  ///   or the record needs the reference.
  static func clearingReferencesToDeleted(in changes: [RecordChange]) throws -> [RecordChange] {
    let deleted = Set(changes.lazy.filter { $0.kind == .deleted }.map(\.id))
    guard !deleted.isEmpty else { return changes }
    return try changes.map { try $0.clearingReferences(to: deleted.contains) }
  }

  /// The change without references to deleted records; see ``clearingReferencesToDeleted(in:)``.
  func clearingReferences(to isDeleted: (ManagedObjectID) -> Bool) throws -> RecordChange {
    guard kind != .deleted, entity.hasReferences, let row = row ?? base else { return self }
    var values: [AttributeValue]?
    var changed = changed
    for (relationship, target) in row.constrainedReferences where isDeleted(target) {
      guard relationship.inverse?.deleteRule == .nullify, relationship.isOptional else {
        throw CoherenceError.lateReference(relationship, of: id, to: target)
      }
      values = values ?? row.values
      for cleared in relationship.slotsWithPosition {
        values?[cleared] = .null
        if base?[cleared] == .null { changed.remove(cleared) } else { changed.insert(cleared) }
      }
    }
    guard let values else { return self }
    return writing(values, changed: changed)
  }
}

extension CoherenceError {
  /// The error of a save that deletes the target of a stored reference, which the delete rules did not find.
  static func lateReference(
    _ relationship: RelationshipDescription, of id: ManagedObjectID, to target: ManagedObjectID
  ) -> CoherenceError {
    var error = CoherenceError(
      .danglingReference,
      "'\(relationship.entity.name).\(relationship.name)' of a stored record leads to a record that the save deletes, "
        + "because another context changed it. Refresh both objects, delete again, and save.")
    error.objectIDs = [id, target]
    return error
  }
}

extension Row {
  /// The references whose targets the store requires to exist.
  var constrainedReferences: [(relationship: RelationshipDescription, target: ManagedObjectID)] {
    entity.constrainedSlots.compactMap { slot in
      guard case .reference(let target) = self[slot], case .reference(let relationship) = entity.slots[slot] else {
        return nil
      }
      return (relationship, target)
    }
  }
}
