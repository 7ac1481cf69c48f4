/// The changes that one undo reverts together, in their order.
struct UndoGroup {
  private struct SlotKey: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  private struct ListKey: Hashable {
    let object: ObjectIdentifier
    let relationship: RelationshipDescription

    init(_ object: ManagedObject, _ relationship: RelationshipDescription) {
      self.object = ObjectIdentifier(object)
      self.relationship = relationship
    }
  }

  var name: String?
  private(set) var steps: [UndoStep] = []
  /// The lists of the steps, so that later changes of a list extend its step.
  private var lists: [ListKey: RecordedList] = [:]
  /// The deletes of the steps. The members of the deleted objects are added when the delete rules are applied.
  private var deletesByObject: [ObjectIdentifier: DeletedObject] = [:]

  var isEmpty: Bool { steps.isEmpty }
  var deletes: [DeletedObject] { steps.compactMap { if case .deleted(let deleted) = $0 { deleted } else { nil } } }

  /// The steps that an undo reverts, from the last step to the first. The first of several writes of a slot has the
  /// state to restore. The states in between are left out: to restore them would remove the object from lists to which
  /// later steps have given it back.
  var stepsToRevert: [UndoStep] {
    var written: Set<SlotKey> = []
    let first = steps.filter { step in
      guard case .value(let object, let slot, _, _) = step else { return true }
      return written.insert(SlotKey(object: ObjectIdentifier(object), slot: slot)).inserted
    }
    return first.reversed()
  }

  /// Adds a change, before the change is made.
  mutating func append(_ step: UndoStep) {
    switch step {
    case .value(let object, let slot, _, _): if steps.last?.isValue(of: object, at: slot) == true { return }
    case .list(let list): lists[ListKey(list.object, list.relationship)] = list
    case .deleted(let deleted): deletesByObject[ObjectIdentifier(deleted.object)] = deleted
    case .added, .removed, .inserted: break
    }
    steps.append(step)
  }

  /// Removes obsolete steps. A later change of a list whose step is removed adds a step again.
  mutating func removeSteps(where isObsolete: (UndoStep) -> Bool) {
    var removedLists: [ListKey] = []
    var removedDeletes: [ObjectIdentifier] = []
    steps.removeAll { step in
      guard isObsolete(step) else { return false }
      if case .list(let list) = step { removedLists.append(ListKey(list.object, list.relationship)) }
      if case .deleted(let deleted) = step { removedDeletes.append(ObjectIdentifier(deleted.object)) }
      return true
    }
    for key in removedLists { lists[key] = nil }
    for object in removedDeletes { deletesByObject[object] = nil }
  }

  /// The recorded list of an object; `nil` if the group has not changed the list.
  func list(of relationship: RelationshipDescription, _ object: ManagedObject) -> RecordedList? {
    lists[ListKey(object, relationship)]
  }

  /// The delete of an object in the group.
  func delete(of object: ManagedObject) -> DeletedObject? { deletesByObject[ObjectIdentifier(object)] }
}
