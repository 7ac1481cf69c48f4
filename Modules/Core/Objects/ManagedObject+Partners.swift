// The related objects that the change of a relationship also changes.

extension ManagedObject {
  /// The object of a target or member of a relationship; `nil` for a record that does not exist any more.
  ///
  /// - Throws: Errors of the store. A failed read does not count as a missing record, which would leave the inverse
  ///   relationship of a present record as it was.
  final func presentMember(
    _ id: ManagedObjectID, of relationship: RelationshipDescription
  ) throws -> ManagedObject? {
    do {
      return try member(id, of: relationship)
    } catch let error as CoherenceError where error.isOfMissingRecord {
      return nil
    }
  }

  /// The loaded owners that new members of a to-many relationship of this object leave.
  ///
  /// - Throws: Errors of the store.
  final func formerOwners(
    of members: [ManagedObject], in relationship: RelationshipDescription
  ) throws -> [ManagedObject] {
    guard let inverse = relationship.inverse, let slot = inverse.slot else { return [] }
    return try members.compactMap { member in
      let owner = try member.loadedValue(at: slot)
      return owner == .reference(recordID) ? nil : try member.loadedPartner(owner, of: inverse)
    }
  }

  /// The loaded object to which a reference of this object leads; `nil` for no reference, and for a record that does
  /// not exist any more.
  ///
  /// - Throws: Errors of the store.
  final func loadedPartner(
    _ reference: AttributeValue, of relationship: RelationshipDescription
  ) throws -> ManagedObject? {
    guard case .reference(let id) = reference, let partner = try presentMember(id, of: relationship) else { return nil }
    do {
      try partner.loadRow()
      return partner
    } catch let error as CoherenceError where error.isOfMissingRecord {
      return nil
    }
  }

  /// Loads the row, the members and the order that an edit of this side of a relationship reads. Called before the
  /// other side is changed, so that a failed read leaves no link with one side only.
  ///
  /// - Throws: Errors of the store.
  final func loadSide(for edit: MemberEdit, of relationship: RelationshipDescription) throws {
    // The record of a detached object is deleted, and the edit does not reach its side.
    if flags.contains(.detached) { return }
    do {
      try loadRow()
      if storage?.recordsUndo == true, relationship.isOrdered { _ = try memberList(of: relationship) }
      _ = try isStoredMember(revertedBy: edit, of: relationship)
    } catch let error as CoherenceError where error.isOfMissingRecord {
      // A removal passes over a missing record, and an insertion has loaded the record before.
    }
  }
}
