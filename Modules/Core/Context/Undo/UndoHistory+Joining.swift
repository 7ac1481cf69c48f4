extension UndoHistory {
  /// Removes the steps of inserted objects whose records became other writers' records in a save. An undo of these
  /// steps would delete and change the other writers' records.
  ///
  /// The steps of a link stay on both sides, so that an undo takes the link back, or on none. A reference of such a
  /// record to an owner of many records stays in the record.
  ///
  /// - Parameter ids: The identifiers of the objects before the save.
  func forget(_ objects: [ManagedObject], formerly ids: Set<ManagedObjectID>) {
    let gone = Set(objects.map(ObjectIdentifier.init))
    removeSteps { step in
      switch step {
      case .value(let object, let slot, _): gone.contains(ObjectIdentifier(object)) && !object.entity.isOneToOne(slot)
      case .inserted(let object): gone.contains(ObjectIdentifier(object))
      case .added(let object, let relationship, let id), .removed(let object, let relationship, let id):
        relationship.inverse?.isToMany == false && ids.contains(id)
          || relationship.inverse == nil && gone.contains(ObjectIdentifier(object))
      case .list(let list):
        list.relationship.inverse == nil && gone.contains(ObjectIdentifier(list.object))
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
