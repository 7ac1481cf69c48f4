/// Calls the participants of a coordinator during one save, and collects the records that they add.
struct SaveRecording {
  private let observers: [EntityObservers.Observer]
  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private let author: String?
  private let derivedValues: DerivedValues

  /// Returns `nil` when the coordinator has no participant, at the cost of reading one word, and for a context without
  /// ``ManagedObjectContext/recordsChanges``.
  init?(of context: ManagedObjectContext, in coordinator: PersistentStoreCoordinator) {
    guard !coordinator.participants.isEmpty, context.recordsChanges else { return nil }
    observers = coordinator.participants.all
    self.context = context
    self.coordinator = coordinator
    author = context.transactionAuthor
    derivedValues = DerivedValues(in: coordinator, by: author)
  }

  /// Calls the participants that observe changes of a unit of work, and returns the records that they add.
  ///
  /// - Parameters:
  ///   - permanentIDs: The identifiers of the unit's records after the save.
  ///   - comparesValues: Whether updates without a different value are left out, as batch requests need. A save of a
  ///     context with a parent always leaves them out.
  /// - Throws: A ``CoherenceError`` of a participant; ``ErrorCode/validationFailed`` for its other errors;
  ///   ``ErrorCode/illegalState`` when a participant changes objects of the context.
  func records(
    addedTo unit: UnitOfWork, in store: any PersistentStore, _ permanentIDs: PermanentIDs = PermanentIDs(),
    comparesValues: Bool = false
  ) throws -> ParticipantRecords {
    var records = ParticipantRecords()
    guard unit.writesAnything else { return records }
    let keys = KeySupply(of: store)
    // A value set below a parent's unsaved edit may be the value that the store has.
    let comparesValues = comparesValues || context.parent != nil
    for observer in observers where unit.changesRecords(observedBy: observer) {
      let changes = RecordedChanges(of: unit, seenBy: observer, permanentIDs, comparesValues: comparesValues)
      guard !changes.isEmpty, let participant = observer.object as? any SaveParticipant else { continue }
      var participation = SaveParticipation(in: store, of: coordinator, by: author, changes, keys, derivedValues)
      try context.call(participant, in: &participation)
      records.append(participation.records)
    }
    return records
  }

  /// Whether a participant observes records of a batch update.
  func isNeeded(toUpdate entity: EntityDescription, _ includesSubentities: Bool) -> Bool {
    let entities = includesSubentities ? entity.hierarchy : [entity]
    return observers.contains { observer in entities.contains { observer.observes($0) } }
  }

  /// Whether a participant observes records of a batch delete: deleted records, or records whose references the delete
  /// clears.
  func isNeeded(toDelete entity: EntityDescription, _ includesSubentities: Bool) -> Bool {
    if isNeeded(toUpdate: entity, includesSubentities) { return true }
    let referrers = coordinator.managedObjectModel.entities.filter { referrer in
      referrer.relationships.contains { $0.slot != nil && $0.destination.root === entity.root }
    }
    return observers.contains { observer in referrers.contains { observer.observes($0) } }
  }
}

extension UnitOfWork {
  /// Whether the unit writes a row or a link.
  fileprivate var writesAnything: Bool {
    !rows.inserts.isEmpty || !rows.updates.isEmpty || !rows.deletes.isEmpty || !links.isEmpty
  }

  /// Whether the unit has a change of an entity that a participant observes.
  fileprivate func changesRecords(observedBy observer: EntityObservers.Observer) -> Bool {
    rows.inserts.contains { observer.observes($0.entity) } || updates.contains { observer.observes($0.entity) }
      || rows.deletes.contains { observer.observes($0.entity) }
  }
}

extension ManagedObjectContext {
  /// Calls a participant in the middle of a save of this context. Throws if the participant changes objects of the
  /// context: the commit would mark such a change as saved, although no store has it.
  fileprivate final func call(_ participant: any SaveParticipant, in save: inout SaveParticipation) throws {
    storage.callbacks.isInParticipant = true
    defer { storage.callbacks.isInParticipant = false }
    do {
      guard try !storage.isChanged(by: { try participant.participate(in: &save) }) else {
        throw CoherenceError(
          .illegalState,
          "A save participant changed objects of the context that saves; add records through the `SaveParticipation`, "
            + "and change objects before or after the save.")
      }
    } catch var error as CoherenceError {
      error.outcome = .notApplied
      throw error
    } catch {
      throw CoherenceError(.validationFailed, "A save participant refused the save.", underlying: error)
    }
  }

  /// Refuses a save that a participant begins in the context whose save called the participant.
  final func refuseSaveByParticipant() throws(CoherenceError) {
    guard storage.callbacks.isInParticipant else { return }
    throw CoherenceError(
      .illegalState,
      "A save participant saves the context whose save called the participant; add records through the "
        + "`SaveParticipation`, or save after the participant has returned.")
  }
}
