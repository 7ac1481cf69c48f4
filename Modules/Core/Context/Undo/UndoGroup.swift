/// The changes that one undo reverts together, in their order.
struct UndoGroup {
  private struct SlotKey: Hashable {
    let object: ObjectIdentifier
    let slot: Int

    init(_ object: ManagedObject, _ slot: Int) {
      self.object = ObjectIdentifier(object)
      self.slot = slot
    }

    // One word, which a set hashes in one step. Equality compares both.
    func hash(into hasher: inout Hasher) { hasher.combine(hashedWord) }
    func _rawHashValue(seed: Int) -> Int { hashedWord._rawHashValue(seed: seed) }

    private var hashedWord: UInt { UInt(bitPattern: object) ^ UInt(bitPattern: slot) << 48 }
  }

  private struct ListKey: Hashable {
    let object: ObjectIdentifier
    let relationship: RelationshipDescription

    init(_ object: ManagedObject, _ relationship: RelationshipDescription) {
      self.object = ObjectIdentifier(object)
      self.relationship = relationship
    }
  }

  /// A member of the list of one object.
  private struct LinkKey: Hashable {
    let list: ListKey
    let member: ManagedObjectID
  }

  /// A member of the lists of one relationship.
  private struct MemberKey: Hashable {
    let relationship: RelationshipDescription
    let member: ManagedObjectID
  }

  var name: String?
  private(set) var steps: [UndoStep] = []
  /// The lists of the steps, so that later changes of a list extend its step.
  private var lists: [ListKey: RecordedList] = [:]
  /// The deletes of the steps. The members of the deleted objects are added when the delete rules are applied.
  private var deletesByObject: [ObjectIdentifier: DeletedObject] = [:]
  /// Whether a write may have set a slot back to its value from before the group.
  private var mayRestoreValues = false
  /// Whether the group has added members of unordered relationships.
  private var hasAdditions = false
  /// Whether the group has removed members of unordered relationships.
  private var hasRemovals = false

  var isEmpty: Bool { steps.isEmpty }
  var deletes: [DeletedObject] { steps.compactMap { if case .deleted(let deleted) = $0 { deleted } else { nil } } }

  /// The steps that an undo reverts, from the last step to the first. The first of several writes of a slot has the
  /// state to restore. The states in between are left out: to restore them would remove the object from lists to which
  /// later steps have given it back.
  var stepsToRevert: [UndoStep] {
    let restoredLinks = restoredLinks
    var written = Set<SlotKey>(minimumCapacity: steps.count)
    let first = steps.filter { step in
      switch step {
      case .value(let object, let slot, _, _): return written.insert(SlotKey(object, slot)).inserted
      case .added(let object, let relationship, let id), .removed(let object, let relationship, let id):
        guard !restoredLinks.isEmpty else { return true }
        return !restoredLinks.contains(LinkKey(list: ListKey(object, relationship), member: id))
      case .list, .inserted, .deleted: return true
      }
    }
    return first.reversed()
  }

  /// The links of many-to-many relationships that the group has removed and added again, or added and removed. Another
  /// writer may have changed such a link since, which the group has not changed.
  ///
  /// A group with deletes has none: an undo may insert the records again, by other identifiers.
  private var restoredLinks: Set<LinkKey> {
    guard hasAdditions, hasRemovals, deletesByObject.isEmpty else { return [] }
    var changes: [LinkKey: (isFirstAddition: Bool, isLastAddition: Bool)] = [:]
    func note(_ object: ManagedObject, _ relationship: RelationshipDescription, _ id: ManagedObjectID, isAddition: Bool)
    {
      guard relationship.inverse?.isToMany == true else { return }
      let key = LinkKey(list: ListKey(object, relationship), member: id)
      changes[key, default: (isAddition, isAddition)].isLastAddition = isAddition
    }
    for step in steps {
      switch step {
      case .added(let object, let relationship, let id): note(object, relationship, id, isAddition: true)
      case .removed(let object, let relationship, let id): note(object, relationship, id, isAddition: false)
      case .value, .list, .inserted, .deleted: break
      }
    }
    return Set(changes.lazy.filter { $0.value.isFirstAddition != $0.value.isLastAddition }.map(\.key))
  }

  /// Adds a change, before the change is made.
  mutating func append(_ step: UndoStep) {
    switch step {
    case .value(let object, let slot, _, let isFirst):
      let isRepeated = steps.last?.isValue(of: object, at: slot) == true
      if isRepeated || !isFirst { mayRestoreValues = true }
      if isRepeated { return }
    case .list(let list): lists[ListKey(list.object, list.relationship)] = list
    case .deleted(let deleted): deletesByObject[ObjectIdentifier(deleted.object)] = deleted
    case .added: hasAdditions = true
    case .removed: hasRemovals = true
    case .inserted: break
    }
    steps.append(step)
  }

  /// Records that a save writes the changes so far. The next write of a slot is the first one after the save, and may be
  /// a later one of the group.
  mutating func noteSave() { if !isEmpty { mayRestoreValues = true } }

  /// Drops the writes of slots that have their values from before the group again, and the members that these writes have
  /// added to lists or removed from them. Another writer may change these values before the undo, and an undo keeps what
  /// its group has not changed. A group without steps stays a group, whose undo has no effect.
  ///
  /// Costs nothing for a group whose writes are the first ones of their slots since the last save.
  ///
  /// - Parameters:
  ///   - isRestored: Whether a slot of an object has a recorded value.
  ///   - current: Returns the present identifier for a recorded one.
  mutating func dropRestoredValues(
    where isRestored: (_ object: ManagedObject, _ slot: Int, _ before: AttributeValue) -> Bool,
    current: (ManagedObjectID) -> ManagedObjectID
  ) {
    guard mayRestoreValues else { return }
    var candidates: Set<SlotKey> = []
    for case .value(let object, let slot, let before, _) in steps
    where mayDrop(slot, of: object) && isRestored(object, slot, before) {
      candidates.insert(SlotKey(object, slot))
    }
    guard !candidates.isEmpty else { return }
    var (seen, restored): (Set<SlotKey>, Set<SlotKey>) = ([], [])
    var members: Set<MemberKey> = []
    // The first of several writes of a slot has the value from before the group.
    for case .value(let object, let slot, let before, _) in steps {
      let key = SlotKey(object, slot)
      guard candidates.contains(key), seen.insert(key).inserted, isRestored(object, slot, before) else { continue }
      restored.insert(key)
      guard case .reference(let relationship) = object.entity.slots[slot], let list = relationship.inverse else {
        continue
      }
      members.insert(MemberKey(relationship: list, member: object.recordID))
    }
    steps.removeAll { step in
      switch step {
      case .value(let object, let slot, _, _): restored.contains(SlotKey(object, slot))
      case .added(_, let relationship, let id), .removed(_, let relationship, let id):
        members.contains(MemberKey(relationship: relationship, member: current(id)))
      case .list, .inserted, .deleted: false
      }
    }
  }

  /// Whether the writes of a slot may be dropped. The writes of a reference to the owner of an ordered list belong to the
  /// recorded list. Records that the group deletes may be inserted again, by other identifiers, and references without an
  /// inverse are recorded for that.
  private func mayDrop(_ slot: Int, of object: ManagedObject) -> Bool {
    switch object.entity.slots[slot] {
    case .attribute: true
    case .reference(let relationship): deletesByObject.isEmpty && relationship.inverse?.isOrdered == false
    case .position: false
    }
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
