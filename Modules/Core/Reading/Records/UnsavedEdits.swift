/// The unsaved edits that a context has made to a record.
package struct UnsavedEdits: Sendable {
  /// Whether the next save deletes the record.
  package let isDelete: Bool
  /// The changed slots.
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
  /// Returns this context's own unsaved edits of records. Records without edits are left out. May be called on any
  /// thread.
  package final func unsavedEdits(of ids: some Sequence<ManagedObjectID>) -> [ManagedObjectID: UnsavedEdits] {
    storage.withPending {
      guard storage.unsaved.count > 0 else { return [:] }
      var result: [ManagedObjectID: UnsavedEdits] = [:]
      for id in ids {
        guard let record = storage.recordUnderLock(for: id), !record.isUnchanged else { continue }
        result[id] = UnsavedEdits(record)
      }
      return result
    }
  }
}
