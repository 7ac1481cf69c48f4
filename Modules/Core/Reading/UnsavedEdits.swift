/// What a context has edited of a record and not saved.
package struct UnsavedEdits: Sendable {
  /// Whether the record is to be deleted.
  package let isDelete: Bool
  package let slots: SlotSet
  /// The to-many relationships with added or removed members.
  package let relationships: Set<RelationshipDescription>

  fileprivate init(_ record: PendingRecord) {
    isDelete = record.kind == .deleted
    slots = record.changed
    relationships = Set(record.members.filter { !$0.value.isEmpty }.keys)
  }
}

extension ManagedObjectContext {
  /// What this context has edited of some records and not saved. May be asked from any thread.
  package final func unsavedEdits(of ids: some Sequence<ManagedObjectID>) -> [ManagedObjectID: UnsavedEdits] {
    storage.withPending {
      guard storage.recordCount > 0 else { return [:] }
      var result: [ManagedObjectID: UnsavedEdits] = [:]
      for id in ids {
        guard let record = storage.recordUnderLock(for: id), !record.isVoid else { continue }
        result[id] = UnsavedEdits(record)
      }
      return result
    }
  }
}
