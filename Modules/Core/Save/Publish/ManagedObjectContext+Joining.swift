// The publishing of inserted records that became other records in a save.

extension ManagedObjectContext {
  /// Prepares the objects of inserted records that became other records, before the other objects become clean.
  ///
  /// The object of such a record becomes the object of the other record. If the context already has an object of the
  /// other record, or if the other record is of a subentity, the inserted object leaves the context: a record has one
  /// object.
  ///
  /// - Parameter changes: Receives the other records' identifiers by the inserted records' former identifiers.
  /// - Returns: The changes of inserted records whose objects have left the context.
  final func takeJoinedObjects(of committed: CommittedUnit, _ changes: inout ChangeSet) -> [RecordChange] {
    var detachedChanges: [RecordChange] = []
    var objects: [ManagedObject] = []
    var former: Set<ManagedObjectID> = []
    for change in committed.unit.updates where change.isTakeover {
      let record = change.record
      noteJoin([record.id, record.permanentID], to: change.id, &changes)
      guard let object = record.object else { continue }
      objects.append(object)
      former.insert(record.id)
      let remains = storage.registry.object(for: change.id) == nil && object.entity === change.entity
      if remains { continue }
      detachJoined(object, to: change.id, showing: change.row)
      detachedChanges.append(change)
    }
    if !committed.absorbed.isEmpty {
      let rows = Dictionary(
        committed.unit.insertsAndUpdates.map { ($0.id, $0.row) }, uniquingKeysWith: { first, _ in first })
      for absorbed in committed.absorbed {
        noteJoin([absorbed.record.id, absorbed.record.permanentID], to: absorbed.id, &changes)
        guard let object = absorbed.record.object else { continue }
        objects.append(object)
        former.insert(absorbed.record.id)
        detachJoined(object, to: absorbed.id, showing: rows[absorbed.id] ?? nil)
      }
    }
    if !objects.isEmpty { storage.undo?.forget(objects, formerly: former) }
    return detachedChanges
  }

  /// Makes the former identifiers of an inserted record lead to the record that it became, here and in following
  /// contexts.
  private final func noteJoin(_ former: [ManagedObjectID], to id: ManagedObjectID, _ changes: inout ChangeSet) {
    for formerID in former where formerID != id {
      noteJoin(of: formerID, to: id)
      changes.permanentIDs[formerID] = id
    }
  }
}
