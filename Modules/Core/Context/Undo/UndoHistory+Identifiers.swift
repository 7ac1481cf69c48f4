extension UndoHistory {
  /// The identifiers of deleted records by the objects in their place.
  var formerIDs: [ObjectIdentifier: [ManagedObjectID]] {
    reinserted.reduce(into: [:]) { $0[ObjectIdentifier($1.value), default: []].append($1.key) }
  }

  /// Returns the present identifier for a recorded identifier.
  func present(_ id: ManagedObjectID, in context: ManagedObjectContext) -> ManagedObjectID {
    let id = context.current(id)
    return reinserted[id]?.recordID ?? id
  }

  /// Returns the present object of a record whose delete detached the recorded object, and that a parent or another
  /// writer has restored; `nil` for any other record.
  func restoredObject(of recorded: ManagedObject, in context: ManagedObjectContext) -> ManagedObject? {
    guard recorded.flags.isSuperset(of: [.detached, .deleted]),
      let object = reinserted[context.current(recorded.recordID)], context.isPresent(object)
    else { return nil }
    return object
  }
}

extension ManagedObjectContext {
  /// Whether a parent may have restored a record in whose place an undo of this context has inserted an object. The next
  /// undo of the insert's delete must find the record.
  ///
  /// - Parameter id: The identifier of the deleted record. Of several records that the object has replaced one after
  ///   another, the last one counts.
  final func mayRestore(_ id: ManagedObjectID, insteadOf object: ManagedObject) -> Bool {
    parent != nil && storage.formerIDs.reinserted(id) == object.recordID
  }
}
