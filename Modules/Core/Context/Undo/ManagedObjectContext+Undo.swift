extension ManagedObjectContext {
  /// The history of undoable changes; `nil`, as in a new context, records none. Setting another history, or `nil`,
  /// removes the recorded changes. To be used inside the context.
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
    history.clear()
    history.context = nil
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
    // The save applies the rules too, without a record of their changes.
    if storage.recordsUndo { try? applyPendingDeleteRules() }
    history.endTurn()
    return try history.withoutRecording(body)
  }

  /// Records that unsaved deleted records leave relationships without an inverse.
  final func recordUndo(ofForgetting gone: Set<ManagedObjectID>) {
    guard storage.recordsUndo else { return }
    for record in storage.records where record.hasMembers {
      record.object?.recordUndo(ofForgetting: gone, in: record)
    }
  }

  // MARK: Reverting

  /// Restores the state before a step other than a delete. The history records the changes for a redo. Records deleted
  /// by other writers are left out.
  final func revert(_ step: UndoStep, by history: UndoHistory) throws {
    do {
      switch step {
      case .value(let object, let slot, let before):
        if isPresent(object) { try object.write(present(before, by: history), at: slot) }
      case .added(let object, let relationship, let id):
        if isPresent(object) {
          try object.changeMembers(of: relationship, .remove(history.present(id, in: self)))
        }
      case .removed(let object, let relationship, let id):
        if isPresent(object) { try object.changeMembers(of: relationship, .add(history.present(id, in: self))) }
      case .list(let object, let relationship, let before):
        guard isPresent(object) else { return }
        let former = try object.changedMemberIDs(of: relationship)
        let members = before.map { history.present($0, in: self) }
        try object.changeMembers(of: relationship, .replace(former, by: members))
      case .inserted(let object):
        guard isPresent(object) else { return }
        try object.loadRow()
        delete(object, isPrepared: false)
      case .deleted: break
      }
    } catch let error as CoherenceError where error.code == .objectNotFound || error.code == .objectDeleted {
      // Another writer has deleted the record.
    }
  }

  private final func isPresent(_ object: ManagedObject) -> Bool {
    object.storage === storage && !object.flags.contains(.detached) && object.pending?.kind != .deleted
  }

  private final func present(_ value: AttributeValue, by history: UndoHistory) -> AttributeValue {
    guard case .reference(let id) = value else { return value }
    return .reference(history.present(id, in: self))
  }

  // MARK: Restoring deleted objects

  /// Takes a delete back: an unsaved one by unmarking the record, a saved one by inserting the object again.
  final func restore(_ deleted: DeletedObject, by history: UndoHistory) throws {
    let (object, record) = (deleted.object, deleted.record)
    if storage.recordsUndo { history.record(.inserted(object)) }
    if record.isCurrent, object.pending === record {
      storage.pendingDeletes.removeAll { $0 === object }
      storage.unmarkDeleted(record, as: deleted.kind)
      storage.noteChange(record)
    } else if object.flags.contains(.detached) {
      try reinsert(deleted, by: history)
    }
  }

  private final func reinsert(_ deleted: DeletedObject, by history: UndoHistory) throws {
    let object = deleted.object
    if deleted.record.base != nil {
      // The identifier of a deleted record is not used again.
      history.note(object, reinserting: deleted.record.permanentID)
      object.recordID = .temporary(for: object.entity)
      object.flags.insert(.temporaryIDExposed)
    }
    object.flags.subtract([.detached, .deleted, .missing, .unavailable])
    object.row = nil
    object.collections = nil
    let record = renewedRecord(of: deleted, by: history)
    record.object = object
    object.pending = record
    storage.registry.insert(fresh: object)
    storage.track(record)
  }

  /// The unsaved record that inserts a deleted object again. The former record is not tracked a second time.
  private final func renewedRecord(of deleted: DeletedObject, by history: UndoHistory) -> PendingRecord {
    let (object, former) = (deleted.object, deleted.record)
    let record = PendingRecord(
      inserting: object.recordID,
      Row.make(id: object.recordID, entity: former.entity, version: 0, values: former.draft.values))
    for slot in record.entity.referenceSlots { record.replace(present(record[slot], by: history), at: slot) }
    if former.base == nil {
      record.reservedID = former.reservedID
      record.assignedStore = former.assignedStore
      record.members = former.members.mapValues { $0.mapped { history.present($0, in: self) } }
    } else {
      record.assignedStore = former.permanentID.storeIdentifier
      record.members = deleted.members.mapValues { memberChanges(adding: $0, by: history) }
    }
    return record
  }

  private final func memberChanges(adding ids: [ManagedObjectID], by history: UndoHistory) -> MemberChanges {
    var changes = MemberChanges()
    for id in ids {
      let id = history.present(id, in: self)
      // The record of a member may be gone.
      guard (try? fault(for: id, of: id.entity).loadRow()) != nil else { continue }
      changes.add(id, comesLast: true)
    }
    return changes
  }
}
