// The objects of inserted records that became other records in a save of this or another context, because both had the
// same unique values; see `MergePolicy`.

extension ManagedObjectContext {
  /// Makes a former identifier of an inserted record lead to the record that it became.
  final func noteJoin(of former: ManagedObjectID, to id: ManagedObjectID) {
    storage.withPending { storage.formerIDs.note(id, of: former, isExposed: true) }
  }

  /// Detaches the object of an inserted record that became another record, because the context has another object of
  /// that record. The detached object shows the saved values and the identifier of that record.
  ///
  /// - Parameter row: The saved row of that record.
  final func detachJoined(_ object: ManagedObject, to id: ManagedObjectID, showing row: Row?) {
    events.noteJoined(object, former: object.recordID)
    if let record = object.pending {
      record.isSilent = true
      storage.untrack(record)
    }
    object.pending = nil
    object.row = row?.entity === object.entity ? row : nil
    object.collections = nil
    object.flags.insert(.detached)
    storage.unregister(object)
    object.recordID = id
  }

  /// Detaches the object of an inserted record that became another record. Its unsaved changes move to the context's
  /// object of that record.
  final func replace(_ object: ManagedObject, by registered: ManagedObject) {
    let former = object.recordID
    if let record = object.pending, record.isTracked, !record.isUnchanged {
      do {
        try move(record, to: registered)
      } catch {
        registered.becomeUnavailable(error, losesChange: true)
      }
    }
    noteJoin(of: former, to: registered.recordID)
    detachJoined(object, to: registered.recordID, showing: registered.row)
  }

  /// Applies the unsaved changes of a record to an object of another identifier.
  private final func move(_ record: PendingRecord, to object: ManagedObject) throws {
    let own = try object.changeable()
    guard record.kind != .deleted else { return storage.markDeleted(own) }
    storage.withPending {
      for slot in record.changed where slot < own.draft.count { own.set(record[slot], at: slot) }
      for (relationship, changes) in record.members {
        if relationship.isOrdered { storage.noteListChange() }
        own.members[relationship, default: MemberChanges()].merge(changes, isOrdered: relationship.isOrdered)
      }
    }
    object.collections = nil
  }
}
