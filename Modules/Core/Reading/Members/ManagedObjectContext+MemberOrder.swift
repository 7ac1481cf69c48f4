// The order of members for moves, which need no objects of the members that stay.

extension ManagedObject {
  /// The identifiers of an ordered relationship's members, for a change of their order. Makes no objects of the members.
  final func memberOrder(of relationship: RelationshipDescription) throws -> [ManagedObjectID] {
    try contextForReadingMembers(of: relationship)?.loadOrder(of: relationship, owner: self)
    return try memberIDs(of: relationship)
  }
}

extension ManagedObjectContext {
  /// Loads the list of an ordered one-to-many relationship with the members' positions, which a save of a move needs.
  ///
  /// Does nothing for lists that the reading of members loads better: a list with the unsaved changes of a parent, a
  /// list of links, which come without rows of members, and the lists of owners that one fetch returned, which are read
  /// together.
  fileprivate final func loadOrder(of relationship: RelationshipDescription, owner: ManagedObject) throws {
    guard parent == nil, case .inverseColumn(let inverse, let slot?) = relationship.storage else { return }
    let column = MemberColumn(entity: inverse.entity, inverse: inverse, positionSlot: slot)
    try loading {
      enterUnit()
      guard storage.groups.group(of: owner) == nil,
        !storage.retainedReads.hasList(of: relationship, owner: owner.recordID)
      else { return }
      // From before the read: its end calls hooks, which may receive saves of other writers that outdate the list.
      let (version, generation) = (owner.rowVersion, storage.generation(of: relationship))
      var positions: [ManagedObjectID: Int64?] = [:]
      let members = try committedMembers(of: relationship, owners: [owner.recordID]) { rows in
        for row in rows { positions.updateValue(column.position(of: row), forKey: row.id) }
      }
      noteFault(of: relationship, in: owner.entity)
      let list = owner.setMemberList(
        members[owner.recordID] ?? [], of: relationship, version: version, generation: generation)
      let known = list.ids.compactMap { positions[$0] }
      if known.count == list.ids.count { list.positions = known }
    }
  }
}
