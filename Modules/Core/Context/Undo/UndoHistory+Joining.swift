extension UndoHistory {
  /// Removes the steps of inserted objects whose records became other writers' records in a save. An undo of these
  /// steps would delete and change the other writers' records.
  ///
  /// A change of a relationship with an inverse has a step on each side, and an undo needs both or none. Both are
  /// removed for a reference to an owner with many members: the stored record keeps its reference. Both stay for
  /// one-to-one and many-to-many relationships: an undo reverts the change.
  ///
  /// - Parameter ids: The identifiers of the objects before the save.
  func forget(_ objects: [ManagedObject], formerly ids: Set<ManagedObjectID>) {
    let joined = Set(objects.map(ObjectIdentifier.init))
    removeSteps { step in
      switch step {
      case .value(let object, let slot, _, _):
        joined.contains(ObjectIdentifier(object)) && !object.entity.isOneToOne(slot)
      case .inserted(let object): joined.contains(ObjectIdentifier(object))
      case .added(let object, let relationship, let id), .removed(let object, let relationship, let id):
        relationship.inverse?.isToMany == false && ids.contains(id)
          || relationship.inverse == nil && joined.contains(ObjectIdentifier(object))
      case .list(let list):
        list.relationship.inverse == nil && joined.contains(ObjectIdentifier(list.object))
          || list.forgetReferences(of: ids)
      case .deleted: false
      }
    }
  }
}

extension EntityDescription {
  /// Whether a slot has the target of a one-to-one relationship.
  fileprivate func isOneToOne(_ slot: Int) -> Bool {
    if case .reference(let relationship) = slots[slot] { relationship.inverse?.isToMany == false } else { false }
  }
}
