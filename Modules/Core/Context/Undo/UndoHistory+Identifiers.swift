extension UndoHistory {
  /// The identifiers of deleted records by the objects in their place.
  var formerIDs: [ObjectIdentifier: [ManagedObjectID]] {
    reinserted.reduce(into: [:]) { $0[ObjectIdentifier($1.value), default: []].append($1.key) }
  }

  /// Returns the present identifier for a recorded identifier.
  func present(_ id: ManagedObjectID, in context: ManagedObjectContext) -> ManagedObjectID {
    let id = context.current(id)
    return existing.contains(id) ? id : reinserted[id]?.recordID ?? id
  }

  /// The deleted records among recorded identifiers that exist again by their own identifiers: a parent has reverted the
  /// delete after the history's redo has deleted the object in their place again.
  func existingIDs(among ids: [ManagedObjectID]) -> [ManagedObjectID] {
    guard let context else { return [] }
    return ids.map(context.current).filter { id in
      guard let object = reinserted[id], !context.isPresent(object) else { return false }
      return context.storage.registry.object(for: id).map(context.isPresent) == true
    }
  }

  /// Has the context find new records by their temporary identifiers, also after a save. A child may have no object of a
  /// parent's new record yet.
  func expose(_ ids: [ManagedObjectID]) {
    guard let context else { return }
    for id in ids {
      if context.parent != nil {
        context.exposeTemporaryID(id)
      } else {
        context.storage.registry.object(for: id)?.exposeTemporaryID()
      }
    }
  }

  /// Has a context without children forget the reinserted records that the history has forgotten. The history of a
  /// child may have the deletes of these records longer.
  func dropReinserted() {
    guard let context, !context.isParent else { return }
    let storage = context.storage
    storage.withPending { storage.formerIDs.dropReinserted { reinserted[$0] != nil } }
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
