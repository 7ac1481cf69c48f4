/// One recorded change: the changed part of an object, with its state before the change.
enum UndoStep {
  /// A value in a slot. The last element says whether the record had no unsaved change of the value before.
  case value(ManagedObject, slot: Int, before: AttributeValue, isFirst: Bool = false)
  /// A member added to an unordered relationship.
  case added(ManagedObject, RelationshipDescription, ManagedObjectID)
  /// A member removed from an unordered relationship.
  case removed(ManagedObject, RelationshipDescription, ManagedObjectID)
  /// The members of an ordered relationship.
  case list(RecordedList)
  case inserted(ManagedObject)
  case deleted(DeletedObject)

  /// Whether the step is the write of the same slot of an object. The earlier of two such steps has the state to
  /// restore.
  func isValue(of object: ManagedObject, at slot: Int) -> Bool {
    if case .value(let written, let writtenSlot, _, _) = self {
      written === object && writtenSlot == slot
    } else {
      false
    }
  }

  /// The temporary identifiers in the state before the change, of the member, and of the records that a deleted record
  /// refers to.
  var temporaryIDs: [ManagedObjectID] {
    switch self {
    case .value(_, _, .reference(let id), _), .added(_, _, let id), .removed(_, _, let id):
      id.isTemporaryID ? [id] : []
    case .list(let list): list.before.filter(\.isTemporaryID)
    case .deleted(let deleted): deleted.record.partners.filter(\.isTemporaryID)
    default: []
    }
  }

  /// The members and targets in the state before the change.
  var referredIDs: [ManagedObjectID] {
    switch self {
    case .value(_, _, .reference(let id), _), .added(_, _, let id), .removed(_, _, let id): [id]
    case .list(let list): list.before
    case .value, .inserted, .deleted: []
    }
  }

  /// The members that an undo of the step gives back to a relationship.
  var removedIDs: [ManagedObjectID] {
    switch self {
    case .removed(_, _, let id): [id]
    case .list(let list): Array(list.removed)
    default: []
    }
  }

  /// The object that the step has inserted, or has deleted with its insert.
  var insertedObject: ManagedObject? {
    switch self {
    case .inserted(let object): object
    case .deleted(let deleted): deleted.record.base == nil ? deleted.object : nil
    default: nil
    }
  }

  /// The identifiers that an undo of the step replaces by present ones, and the identifier of the changed or deleted
  /// object, whose record may exist again as another object.
  var recordedIDs: [ManagedObjectID] {
    switch self {
    case .value(let object, _, .reference(let id), _), .added(let object, _, let id), .removed(let object, _, let id):
      [object.recordID, id]
    case .value(let object, _, _, _), .inserted(let object): [object.recordID]
    case .list(let list): [list.object.recordID] + list.recordedIDs
    case .deleted(let deleted):
      [deleted.record.permanentID] + deleted.record.partners + deleted.members.values.flatMap { $0 }
    }
  }
}

/// A deleted object, with the state for inserting it again.
final class DeletedObject {
  let object: ManagedObject
  /// The unsaved record that marks the delete. Its draft keeps the last values.
  let record: PendingRecord
  /// The kind of the record before the delete.
  let kind: PendingRecord.Kind
  /// The members of the object's to-many relationships when the delete rules were applied.
  var members: [RelationshipDescription: [ManagedObjectID]] = [:]

  init(_ object: ManagedObject, _ record: PendingRecord) {
    self.object = object
    self.record = record
    kind = record.kind
  }
}
