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
    return try history.withoutRecording(body)
  }

  /// Runs a block whose changes the undo history does not record.
  final func withoutUndo(_ body: () -> Void) {
    guard let history = storage.undo else { return body() }
    history.withoutRecording(body)
  }

  // MARK: Reverting

  /// Restores the state before a step other than a delete. The history records the changes for a redo. Records deleted
  /// by other writers are left out.
  final func revert(_ step: UndoStep, by history: UndoHistory) throws {
    do {
      switch step {
      case .value(let recorded, let slot, let before):
        guard let object = try presentObject(recorded) else { return }
        try restore(present(before, by: history), at: slot, of: object)
      case .added(let recorded, let relationship, let id):
        try presentObject(recorded)?.changeMembers(of: relationship, .remove(history.present(id, in: self)))
      case .removed(let recorded, let relationship, let id):
        guard let object = try presentObject(recorded) else { return }
        let id = history.present(id, in: self)
        // Delete rules do not remove a deleted member from a relationship without an inverse, so that the member may
        // still be there.
        if relationship.inverse == nil, try object.changedMemberIDs(of: relationship).contains(id) { return }
        try object.changeMembers(of: relationship, .add(id))
      case .list(let list):
        guard let object = try presentObject(list.object) else { return }
        let members = try object.changedMemberIDs(of: list.relationship)
        let reverted = list.reverted(members) { history.present($0, in: self) }
        try object.changeMembers(of: list.relationship, .replace(members, by: reverted))
      case .inserted(let object):
        guard isPresent(object) else { return }
        try object.loadRow()
        delete(object, isPrepared: false)
      case .deleted: break
      }
    } catch let error as CoherenceError where error.isOfMissingRecord {
      // Another writer has deleted the record.
    }
  }

  /// Restores the value of a slot. A reference to a record that another writer has deleted becomes `nil`, as the delete
  /// rule would have made it. A partner that another writer has given to the object in a one-to-one relationship does
  /// not lead to the object any more.
  private final func restore(_ value: AttributeValue, at slot: Int, of object: ManagedObject) throws {
    guard case .reference(let relationship) = object.entity.slots[slot] else {
      return try object.write(value, at: slot)
    }
    if let inverse = relationship.inverse, inverse.slot != nil {
      let former = try object.loadedValue(at: slot)
      if former != value, let partner = try object.loadedPartner(former, of: relationship), partner !== object {
        try partner.removeRelated(object, of: inverse)
      }
    }
    if relationship.isConstrained, !value.isNull, try object.loadedPartner(value, of: relationship) == nil {
      try object.write(.null, at: slot)
      return try object.clearPosition(after: slot)
    }
    try object.write(value, at: slot)
  }

  /// The object with a recorded object's record: the recorded object itself, or the context's object of the record that
  /// its record became in a save; `nil` if it is deleted.
  private final func presentObject(_ recorded: ManagedObject) throws -> ManagedObject? {
    if isPresent(recorded) { return recorded }
    let isReplaced = recorded.flags.contains(.detached) && !recorded.flags.contains(.deleted)
    guard isReplaced, !recorded.recordID.isTemporaryID else { return nil }
    let object = try fault(for: recorded.recordID, of: recorded.entity)
    return isPresent(object) ? object : nil
  }

  /// Whether a recorded object still belongs to the context and is not deleted.
  final func isPresent(_ object: ManagedObject) -> Bool {
    object.storage === storage && !object.flags.contains(.detached) && object.pending?.kind != .deleted
  }

  /// Returns a recorded value with the present identifier in a reference.
  final func present(_ value: AttributeValue, by history: UndoHistory) -> AttributeValue {
    guard case .reference(let id) = value else { return value }
    return .reference(history.present(id, in: self))
  }
}
