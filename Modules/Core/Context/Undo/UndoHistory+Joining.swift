extension UndoHistory {
  /// Removes the steps of inserted objects whose records became other writers' records in a save. An undo of these
  /// steps would delete and change the other writers' records.
  ///
  /// - Parameter ids: The identifiers of the objects before the save.
  func forget(_ objects: [ManagedObject], formerly ids: Set<ManagedObjectID>) {
    let gone = Set(objects.map(ObjectIdentifier.init))
    removeSteps { step in
      switch step {
      case .value(let object, _, _), .inserted(let object): gone.contains(ObjectIdentifier(object))
      case .added(let object, let relationship, let id), .removed(let object, let relationship, let id):
        // The step may be the other side of a reference of the object.
        gone.contains(ObjectIdentifier(object)) || (relationship.inverse?.isToMany == false && ids.contains(id))
      case .list(let list): gone.contains(ObjectIdentifier(list.object))
      case .deleted: false
      }
    }
  }
}
