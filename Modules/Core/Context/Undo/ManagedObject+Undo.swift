// The recording of an object's changes for undo. Called before each change, while the context records changes.

extension ManagedObject {
  /// Records the write of a slot.
  @inline(never) final func recordUndo(of slot: Int, before value: AttributeValue) {
    let isFirst = pending?.changed.contains(slot) != true
    storage?.undo?.record(.value(self, slot: slot, before: value, isFirst: isFirst))
  }

  /// Records a change of the members of a relationship.
  ///
  /// - Throws: Errors of reading an ordered list.
  @inline(never) final func recordUndo(of edit: MemberEdit, _ relationship: RelationshipDescription) throws {
    guard let history = storage?.undo else { return }
    if relationship.isOrdered { return try recordList(of: relationship, edit, by: history) }
    let changes = pending?.members[relationship]
    switch edit {
    // A repeated edit changes nothing: an assignment and a delete rule may both remove a member.
    case .add(let id) where changes?.contains(id) != true: history.record(.added(self, relationship, id))
    case .remove(let id) where changes?.contains(id) != false: history.record(.removed(self, relationship, id))
    case .add, .remove, .order, .replace: break
    }
  }

  private final func recordList(
    of relationship: RelationshipDescription, _ edit: MemberEdit, by history: UndoHistory
  ) throws {
    if let list = history.list(of: relationship, self) { return history.record(edit, of: list) }
    let list = RecordedList(self, relationship, before: try changedMemberIDs(of: relationship))
    history.record(.list(list))
    history.record(edit, of: list)
  }

  /// Records the changes that the save of a child context makes in this object.
  ///
  /// - Parameters:
  ///   - child: The child's record.
  ///   - current: Returns the present identifier for a former identifier of the child.
  final func recordUndo(
    of child: PendingRecord, in record: PendingRecord, current: (ManagedObjectID) -> ManagedObjectID
  ) throws {
    for slot in child.changed { recordUndo(of: slot, before: record[slot]) }
    for (relationship, changes) in child.members {
      for id in changes.removed { try recordUndo(of: .remove(current(id)), relationship) }
      for id in changes.added { try recordUndo(of: .add(current(id)), relationship) }
      if let order = changes.order { try recordUndo(of: .order(order), relationship) }
    }
  }

  /// Records the references and links of an object that the save of a child context has inserted. An undo clears them
  /// before it deletes the object, so that no delete rule reaches records from before the save.
  final func recordUndoOfPartners() {
    guard let history = storage?.undo, let pending else { return }
    for slot in entity.referenceSlots where !pending[slot].isNull {
      history.record(.value(self, slot: slot, before: .null, isFirst: true))
    }
    for (relationship, changes) in pending.members where relationship.isLinked && !changes.added.isEmpty {
      if relationship.isOrdered {
        let list = RecordedList(self, relationship, before: [])
        history.record(.list(list))
        for id in changes.added { history.record(.add(id), of: list) }
      } else {
        for id in changes.added { history.record(.added(self, relationship, id)) }
      }
    }
  }

  /// The value that another writer has saved in place of the value before an unsaved edit; `nil` if no save has overtaken
  /// the edit. Without the edit, the record has no change of the property and no conflict.
  ///
  /// References are left out: the undo of a move returns the record to its former owner.
  final func savedValue(replacing before: AttributeValue, at slot: Int) -> AttributeValue? {
    // Asked first, because saves of other writers have overtaken few edits.
    guard pending?.overtaken != nil, let pending, let base = pending.base, case .attribute = entity.slots[slot],
      pending.overtaken?[slot] == before
    else { return nil }
    return base[slot]
  }
}
