// Edits of members that revert an earlier unsaved edit. Another writer may have saved the same edit in between: the
// context removes a member, another writer saves the same removal, and the context adds the member again. The two edits
// of the context are then no return to the stored state but an addition.

extension ManagedObject {
  /// Whether the list of the store or the parent has the member of an edit, if the edit reverts an earlier unsaved edit
  /// of the same member. The pair of edits is no change only if the list is as it was before the first edit.
  ///
  /// Reads the list if it is not loaded, and another save may have changed it.
  ///
  /// - Returns: `nil` for an edit that reverts no other edit, and if no other save has changed such lists.
  final func isStoredMember(revertedBy edit: MemberEdit, of relationship: RelationshipDescription) throws -> Bool? {
    guard let pending, pending.base != nil, let changes = pending.members[relationship] else { return nil }
    switch edit {
    case .add(let id) where changes.contains(id) == false:
      return try isStoredMember(id, of: relationship, reverting: false)
    case .remove(let id) where changes.contains(id) == true:
      return try isStoredMember(id, of: relationship, reverting: true)
    default: return nil
    }
  }

  /// As ``isStoredMember(revertedBy:of:)``, for an edit that reverts another one.
  ///
  /// The lists of both sides of a link may be of different moments: one may be loaded before the save of another writer,
  /// and one after it. Both sides make the same decision, that of the list which makes the pair of edits a change.
  ///
  /// - Parameter wasAdded: Whether the reverted edit added the member.
  private final func isStoredMember(
    _ id: ManagedObjectID, of relationship: RelationshipDescription, reverting wasAdded: Bool
  ) throws -> Bool? {
    let own = try isStoredMember(id, of: relationship)
    guard let (member, inverse) = otherSide(of: id, relationship) else { return own }
    let changes = member.pending?.members[inverse]
    let change = changes?.contains(recordID)
    // An ordered list keeps the pair of edits in any case, because the member comes last in it.
    let isOnlyMove = inverse.isOrdered && !wasAdded && changes?.removed.contains(recordID) == true
    // The other side has made the decision already: the pair of edits is a change.
    if change == !wasAdded, !isOnlyMove { return wasAdded }
    guard change == wasAdded || isOnlyMove, let other = try member.isStoredMember(recordID, of: inverse) else {
      return own
    }
    return own == wasAdded || other == wasAdded ? wasAdded : !wasAdded
  }

  /// The member, and the relationship that leads back, of a many-to-many relationship.
  private final func otherSide(
    of id: ManagedObjectID, _ relationship: RelationshipDescription
  ) -> (ManagedObject, RelationshipDescription)? {
    guard let inverse = relationship.inverse, inverse.isToMany, let member = storage?.registry.object(for: id) else {
      return nil
    }
    return (member, inverse)
  }

  /// For the members whose unsaved edits the changes of a child revert: whether the list of the store or the parent has
  /// them. As ``isStoredMember(revertedBy:of:)``.
  final func storedMembers(
    revertedBy changes: MemberChanges, of relationship: RelationshipDescription
  ) throws -> [ManagedObjectID: Bool] {
    var stored: [ManagedObjectID: Bool] = [:]
    for id in changes.added { stored[id] = try isStoredMember(revertedBy: .add(id), of: relationship) }
    for id in changes.removed { stored[id] = try isStoredMember(revertedBy: .remove(id), of: relationship) }
    return stored
  }

  /// The changes of a child, based on the list below the unsaved changes of this context. The child has read an ordered
  /// list with these changes, whose order is no saved order.
  final func rebased(_ changes: MemberChanges, of relationship: RelationshipDescription) -> MemberChanges {
    guard relationship.isOrdered, let pending, changes.origin?.version == pending.base?.version else { return changes }
    let list = loadedList(of: relationship)
    guard list != nil || pending.members[relationship]?.isEmpty == false else { return changes }
    return changes.based(on: list?.ids)
  }

  /// Whether the list of the store or the parent has a member; `nil` if the member's object or its row is not loaded,
  /// and if no other save has changed lists of the relationship.
  private final func isStoredMember(_ id: ManagedObjectID, of relationship: RelationshipDescription) throws -> Bool? {
    if case .inverseColumn(let inverse, _) = relationship.storage {
      guard let slot = inverse.slot, let member = storage?.registry.object(for: id) else { return nil }
      if let record = member.pending { return record.base.map { $0[slot] == .reference(recordID) } ?? false }
      return member.row.map { $0[slot] == .reference(recordID) }
    }
    if let list = loadedList(of: relationship) { return list.contains(id) }
    guard let storage, storage.generation(of: relationship) != 0 else { return nil }
    return try memberList(of: relationship).contains(id)
  }
}
