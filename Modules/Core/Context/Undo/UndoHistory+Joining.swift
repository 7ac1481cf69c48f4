extension UndoHistory {
  /// Removes the inserts of objects, and the changes of their values, whose records became records of other writers in a
  /// save. Their undo would delete and change these records.
  ///
  /// - Parameter ids: The identifiers of the objects before the save.
  func forget(_ objects: [ManagedObject], formerly ids: Set<ManagedObjectID>) {
    let gone = Set(objects.map(ObjectIdentifier.init))
    removeSteps { step in
      switch step {
      case .value(let object, _, _), .inserted(let object): gone.contains(ObjectIdentifier(object))
      case .added(let object, let relationship, let id), .removed(let object, let relationship, let id):
        // The other side of a reference of the object.
        gone.contains(ObjectIdentifier(object)) || (relationship.inverse?.isToMany == false && ids.contains(id))
      case .list(let object, _, _): gone.contains(ObjectIdentifier(object))
      case .deleted: false
      }
    }
  }
}
