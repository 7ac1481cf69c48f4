/// The changes that one undo reverts together, in their order.
struct UndoGroup {
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
  private var lists: [ListKey: RecordedList] = [:]
  private var deletesByObject: [ObjectIdentifier: DeletedObject] = [:]

  var isEmpty: Bool { steps.isEmpty }
  var deletes: [DeletedObject] { steps.compactMap { if case .deleted(let deleted) = $0 { deleted } else { nil } } }

  /// Adds a change, before the change is made.
  mutating func append(_ step: UndoStep) {
    switch step {
    case .value(let object, let slot, _): if steps.last?.isValue(of: object, at: slot) == true { return }
    case .list(let list): lists[ListKey(list.object, list.relationship)] = list
    case .deleted(let deleted): deletesByObject[ObjectIdentifier(deleted.object)] = deleted
    case .added, .removed, .inserted: break
    }
    steps.append(step)
  }

  /// Removes obsolete steps.
  mutating func removeSteps(where isObsolete: (UndoStep) -> Bool) { steps.removeAll(where: isObsolete) }

  /// The recorded list of an object; `nil` if the group has not changed the list.
  func list(of relationship: RelationshipDescription, _ object: ManagedObject) -> RecordedList? {
    lists[ListKey(object, relationship)]
  }

  /// The delete of an object in the group.
  func delete(of object: ManagedObject) -> DeletedObject? { deletesByObject[ObjectIdentifier(object)] }
}
