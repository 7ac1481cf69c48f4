extension ManagedObjectContext {
  /// The history of undoable changes; `nil`, as in a new context, to record no changes. Setting another history, or
  /// `nil`, removes the recorded changes. A history with another context leaves that context, and loses the changes of
  /// that context. To be used inside the context.
  public final var undoHistory: UndoHistory? {
    get {
      storage.confinement.check("The \(label)")
      return storage.undo
    }
    set {
      storage.confinement.check("The \(label)")
      guard storage.undo !== newValue else { return }
      endRecordingUndo()
      guard let newValue else { return }
      // The rules of earlier deletes belong to these deletes, which the history does not have.
      try? applyReadableDeleteRules()
      newValue.context?.endRecordingUndo()
      newValue.context = self
      storage.undo = newValue
      newValue.updateRecording()
    }
  }

  private final func endRecordingUndo() {
    guard let history = storage.undo else { return }
    history.leaveContext()
    storage.undo = nil
    storage.recordsUndo = false
  }

  /// Ends the undo group of the outermost block. In a main-queue context the turn of the main queue ends it, and in a
  /// thread's context the next save.
  @inline(never) final func endUndoBlock() {
    if !storage.confinement.isUsedDirectly { storage.undo?.endTurn() }
  }

  /// Runs a save, which ends the present undo group. Changes during the save are not recorded.
  final func savingWithoutUndo<T>(_ body: () throws -> T) rethrows -> T {
    guard let history = storage.undo else { return try body() }
    // The delete rules are applied before the save, which would apply them without recording their changes.
    if storage.recordsUndo { try? applyPendingDeleteRules() }
    history.endTurn()
    history.noteSave()
    return try history.pausing(body)
  }

  /// Runs a block whose changes the undo history does not record.
  final func withoutUndo(_ body: () -> Void) {
    guard let history = storage.undo else { return body() }
    history.pausing(body)
  }

  // MARK: Reverting

  /// Restores the state before a step other than a delete. The history records the changes for a redo. Records deleted
  /// by other writers are left out.
  final func revert(_ step: UndoStep, by history: UndoHistory) throws {
    do {
      switch step {
      case .value(let recorded, let slot, let before, let isFirst):
        guard let object = try presentObject(recorded, by: history) else { return }
        let saved = isFirst ? object.savedValue(replacing: before, at: slot) : nil
        try restore(saved ?? present(before, by: history), at: slot, of: object)
      case .added(let recorded, let relationship, let id):
        let id = history.present(id, in: self)
        guard let object = try presentObject(recorded, by: history), try lists(id, in: relationship, of: object) else {
          return
        }
        try object.changeMembers(of: relationship, .remove(id))
      case .removed(let recorded, let relationship, let id):
        guard let object = try presentObject(recorded, by: history) else { return }
        let id = history.present(id, in: self)
        guard !storage.vanished.edited.contains(object.recordID), isRestorable(id) else {
          return try object.forgetRemovals(of: [id], from: relationship)
        }
        guard try !lists(id, in: relationship, of: object) else { return }
        try object.changeMembers(of: relationship, .add(id))
      case .list(let list):
        guard let object = try presentObject(list.object, by: history) else { return }
        let members = try object.changedMemberIDs(of: list.relationship)
        // No member returns to an owner that another writer has deleted.
        let isVanished = storage.vanished.edited.contains(object.recordID)
        let gone = Set(
          list.removed.lazy.map { history.present($0, in: self) }.filter { isVanished || !self.isRestorable($0) })
        try object.forgetRemovals(of: gone, from: list.relationship)
        let former = list.reverted(members) { history.present($0, in: self) }.filter { !gone.contains($0) }
        let below = try object.memberList(of: list.relationship).ids
        let reverted =
          list.isFormerOrder(below, of: former) { history.present($0, in: self) }
          ? below : object.savedOrder(of: former, changedBy: list, below: below) ?? former
        guard reverted != members else { return }
        try object.changeMembers(of: list.relationship, .replace(members, by: reverted))
        // Without the group's addition of a member, the list below the changes still has the member if another writer has
        // added it too.
        let remaining = Set(reverted)
        for id in try object.changedMemberIDs(of: list.relationship).reversed() where !remaining.contains(id) {
          try object.changeMembers(of: list.relationship, .remove(id))
        }
      case .inserted(let recorded):
        let restored = isPresent(recorded) ? recorded : history.restoredObject(of: recorded, in: self)
        guard let object = restored else { return }
        try object.loadRow()
        delete(object, isPrepared: false)
      case .deleted: break
      }
    } catch let error as CoherenceError where error.isOfMissingRecord {
      // Another writer has deleted the record.
    }
  }

  /// Loads the members that the undo of steps gives back to relationships, in one read for each store.
  ///
  /// - Returns: The members that still exist, for the caller to retain.
  final func loadMembers(restoredBy steps: [UndoStep], by history: UndoHistory) throws -> [ManagedObject] {
    let ids = steps.flatMap(\.removedIDs).map { history.present($0, in: self) }
    guard !ids.isEmpty else { return [] }
    return try loading {
      enterUnit()
      return try loadAndRetain(ids, isTarget: false, areUnique: false)
    }
  }

  /// Whether a member that ``loadMembers(restoredBy:by:)`` has loaded may return to a relationship: the record exists, and
  /// neither this context nor another writer has deleted it.
  private final func isRestorable(_ id: ManagedObjectID) -> Bool {
    guard let object = storage.registry.object(for: id), object.isLoaded else { return false }
    return isPresent(object) && !storage.vanished.edited.contains(id)
  }

  /// Whether the list of an unordered relationship has a member. Another writer may have added or removed the member since
  /// the group, and a change without an effect would be one to redo.
  final func lists(
    _ id: ManagedObjectID, in relationship: RelationshipDescription, of object: ManagedObject
  ) throws -> Bool {
    if let isMember = object.pending?.members[relationship]?.contains(id) { return isMember }
    // Delete rules do not remove a deleted member from a relationship without an inverse, so that the list may still have
    // the member.
    guard let inverse = relationship.inverse else { return try object.memberList(of: relationship).contains(id) }
    guard let slot = inverse.slot else {
      let member = storage.registry.object(for: id)
      // The undo has changed the other side already. Both sides make one decision. An ordered list that has lost a member
      // of the list below the changes, and has it again, keeps the pair of edits until the undo changes it.
      if let changes = member?.pending?.members[inverse], let isMember = changes.contains(object.recordID),
        !isMember || !changes.removed.contains(object.recordID)
      {
        return !isMember
      }
      // A loaded list of the other side saves a look-up.
      if object.loadedList(of: relationship) == nil, let list = member?.loadedList(of: inverse) {
        return list.contains(object.recordID)
      }
      return try object.hasMember(id, of: relationship)
    }
    // The list below the changes follows from the rows below the changes. Another step of the group may have restored the
    // member's reference already.
    let member = try object.member(id, of: relationship)
    try member.loadRow()
    let below = member.pending == nil ? member.row : member.pending?.base
    return below?[slot] == AttributeValue.reference(object.recordID)
  }

  /// Restores the value of a slot. A reference to a record that another writer has deleted becomes `nil`, as the delete
  /// rule would have made it. A partner or an owner that another writer has given to the object does not lead to the
  /// object any more.
  private final func restore(_ value: AttributeValue, at slot: Int, of object: ManagedObject) throws {
    guard case .reference(let relationship) = object.entity.slots[slot] else {
      return try object.write(value, at: slot)
    }
    try leaveTarget(at: slot, of: object, through: relationship, for: value)
    if relationship.isConstrained, !value.isNull {
      let target = try object.loadedPartner(value, of: relationship)
      if target.map({ storage.vanished.edited.contains($0.recordID) }) ?? true {
        try object.write(.null, at: slot)
        return try object.clearPosition(after: slot)
      }
    }
    try object.write(value, at: slot)
  }

  /// Removes an object from the other side of its present reference, before an undo replaces the reference.
  ///
  /// The other steps of the group remove the object from the lists that the group has added it to, in advance. Another
  /// list still has the object, because another writer has given the object to the list's owner.
  private final func leaveTarget(
    at slot: Int, of object: ManagedObject, through relationship: RelationshipDescription, for value: AttributeValue
  ) throws {
    guard let inverse = relationship.inverse else { return }
    let former = try object.loadedValue(at: slot)
    guard former != value, let partner = try object.loadedPartner(former, of: relationship) else { return }
    if inverse.isToMany {
      let below = object.pending == nil ? object.row : object.pending?.base
      let isMember = partner.pending?.members[inverse]?.contains(object.recordID) ?? (below?[slot] == former)
      guard isMember else { return }
    } else if partner === object {
      return
    }
    try partner.removeRelated(object, of: inverse)
  }

  /// The object with a recorded object's record: the recorded object itself, the object of a record that exists again
  /// after its delete, or the context's object of the record that its record became in a save; `nil` if it is deleted.
  final func presentObject(_ recorded: ManagedObject, by history: UndoHistory) throws -> ManagedObject? {
    if isPresent(recorded) { return isVanished(recorded) ? nil : recorded }
    if let restored = history.restoredObject(of: recorded, in: self) { return restored }
    let isReplaced = recorded.flags.contains(.detached) && !recorded.flags.contains(.deleted)
    guard isReplaced, !recorded.recordID.isTemporaryID else { return nil }
    let object = try fault(for: recorded.recordID, of: recorded.entity)
    return isPresent(object) ? object : nil
  }

  /// Whether another writer has deleted an object's record, whose last edit has been undone. The object stays until the
  /// next save, but an edit by the undo of an earlier group would bring the record back.
  private final func isVanished(_ object: ManagedObject) -> Bool {
    !storage.vanished.edited.isEmpty && storage.vanished.edited.contains(object.recordID)
      && object.pending?.isUnchanged != false
  }

  /// Whether a recorded object still belongs to the context and is not deleted.
  final func isPresent(_ object: ManagedObject) -> Bool {
    object.storage === storage && !object.flags.contains(.detached) && object.pending?.kind != .deleted
  }

  /// Whether a slot of a present object has a recorded value.
  final func hasValue(
    _ recorded: AttributeValue, at slot: Int, of object: ManagedObject, by history: UndoHistory
  ) -> Bool {
    guard isPresent(object) else { return false }
    return (object.pending?[slot] ?? object.row?[slot]) == present(recorded, by: history)
  }

  /// Returns a recorded value with the present identifier in a reference.
  final func present(_ value: AttributeValue, by history: UndoHistory) -> AttributeValue {
    guard case .reference(let id) = value else { return value }
    return .reference(history.present(id, in: self))
  }
}
