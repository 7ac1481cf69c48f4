import Foundation

extension ManagedObjectContext {
  /// Saves all changes: into the stores, or into the parent context.
  ///
  /// A save into a store is one transaction, and durable when `save` returns, as far as the store's options promise. A
  /// save into several stores is atomic for each store. A save into a parent stays in memory until the parent saves,
  /// unless ``savesPastParent`` is set.
  ///
  /// After a failure the context has the unsaved changes from before the call, and those that hooks have made in the
  /// call, so that the caller can remove the cause and save again. Only the objects of committed stores are clean then.
  ///
  /// The save calls hooks of the changed objects, and closures of the ``mergePolicy``, on the calling thread:
  /// ``ManagedObject/willSave()``, the rules of ``PropertyValidating``, ``ManagedObject/validateForInsert()``,
  /// ``ManagedObject/validateForUpdate()`` and ``ManagedObject/validateForDelete()``. It then notifies the contexts
  /// that follow this one without waiting for them, and calls ``ManagedObject/didSave()`` last. A save into a store
  /// asks the coordinator's participants for records to add, before each attempt to write; see ``SaveParticipant``.
  ///
  /// To be called inside the context. The cost follows the number of changed objects, not the number of objects in the
  /// context. A save without changes takes no transaction.
  ///
  /// - Throws: ``CoherenceError``, in this order of precedence: ``ErrorCode/recordVanished`` or
  ///   ``ErrorCode/objectUnavailable`` when an accessor lost a change, or the save depends on an object that could not
  ///   be loaded; ``ErrorCode/validationFailed`` with all failures; ``ErrorCode/deleteDenied``; errors of participants;
  ///   ``ErrorCode/versionConflict`` with all conflicts that the merge policy does not resolve;
  ///   ``ErrorCode/uniquenessViolated`` with a collision that the merge policy does not resolve, and
  ///   ``ErrorCode/danglingReference``; errors of the store. ``ErrorCode/partialSave`` when a store failed after
  ///   another store had committed. ``ErrorCode/illegalState`` when the closure of the merge policy or a participant
  ///   changes objects of the context, or when a hook of an object saves. ``ErrorCode/cancelled`` when the task is
  ///   cancelled before the store commits. ``CoherenceError/outcome`` says whether the store has the changes.
  public final func save() throws {
    try operating {
      dropFormerIDs()
      var activity = ContextActivity.save(inserted: 0, updated: 0, deleted: 0)
      try measured(StackOperation(.save, target), ifFailed: activity) {
        try movingSnapshotIfChanged {
          try storage.saveNumber.saving { try savingWithoutUndo { try saveDiscardingCollidingObjects(&activity) } }
        }
      } as: { _ in
        activity
      }
    }
  }

  /// Runs a save. A pinned snapshot moves forward with the save of a change.
  @inline(__always) private final func movingSnapshotIfChanged(_ save: () throws -> Void) throws {
    guard lease.pin != nil, hasChanges else { return try save() }
    try refuseSaveByCallee()
    try refusePinnedSaveIntoParent()
    try movingSnapshot(save)
  }

  /// Throws in code that this context calls in the middle of its own work.
  private final func refuseSaveByCallee() throws {
    try refuseSaveByPolicy()
    try refuseSaveByParticipant()
    try refuseSaveByHook()
  }

  /// Saves, and deletes inserted objects whose equal record another writer has saved; see ``DiscardedOnCollision``. A
  /// save that fails nevertheless inserts the objects again: at the next save, the equal record may be gone.
  private final func saveDiscardingCollidingObjects(_ activity: inout ContextActivity) throws {
    // Before the attempts: a failed attempt reverts the positions of a running save, which may have called this code.
    try refuseSaveByCallee()
    var discarded: [DeletedObject] = []
    // The error of the last attempt in which a store has committed before another store refused the save.
    var partial: CoherenceError?
    while true {
      do {
        return try saveChanges(&activity)
      } catch {
        storage.revertPositions()
        let failure = partial.map { SaveOutcomes.failure(error, after: $0) } ?? error
        // Each attempt deletes an inserted object, so that the attempts end.
        guard let object = discardableObject(of: error), let record = object.pending else {
          // Never saved objects have no stored members, whose reads alone could fail.
          if !discarded.isEmpty { _ = try? restore(discarded, by: UndoHistory()) }
          throw failure
        }
        if let failure = failure as? CoherenceError, failure.code == .partialSave { partial = failure }
        discarded.append(DeletedObject(object, record))
        delete(object)
      }
    }
  }

  /// The inserted object of a collision that may be deleted in favour of the equal record.
  private final func discardableObject(of error: any Error) -> ManagedObject? {
    guard let error = error as? CoherenceError else { return nil }
    let cause = error.code == .partialSave ? error.underlying as? CoherenceError : error
    guard let cause, cause.code == .uniquenessViolated else { return nil }
    let refused = cause.objectIDs.lazy.compactMap { self.storage.registry.object(for: $0) }
    return refused.first { object in
      object.pending?.kind == .inserted && (object as? any DiscardedOnCollision)?.isDiscardedOnCollision == true
    }
  }

  /// The target of a save, in reports to observers.
  private final var target: String { parent == nil || savesPastParent ? "stores" : "parent" }

  /// Runs the stages of a save.
  ///
  /// - Parameter activity: Receives the numbers of unsaved records, for observers.
  private final func saveChanges(_ activity: inout ContextActivity) throws {
    // Each save first merges the saves of other contexts, so that only changes of the same properties are conflicts.
    supersedeMainUnit()
    processInboxIfUsedDirectly()
    try prepareSave()
    if isObserved { activity = pendingSave }
    guard storage.hasChanges else { return dropVoidRecords() }
    if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled before the save began.") }
    if let parent, !savesPastParent { return try save(into: parent) }
    try saveIntoStores()
  }

  /// Untracks all records, after a preparation that found no change: their edits have been reverted.
  private final func dropVoidRecords() {
    for record in storage.records {
      let object = record.object
      // A merge has moved the record onto a newer row than the object's.
      if let object, let base = record.base { object.row = base }
      storage.untrack(record)
      object?.keepExposedID()
    }
    let deletedIDs = storage.vanished.edited
    guard !deletedIDs.isEmpty else { return }
    // Other writers have deleted these records, whose objects have stayed for the edits.
    storage.forgetDeletesOfCleanRecords()
    noteMissing(Array(deletedIDs))
    rereadInChildren(deletedIDs)
  }

  // MARK: Into stores

  /// Writes the validated changes into the stores, stage by stage: gather, reserve keys, gather units, execute,
  /// publish.
  private final func saveIntoStores() throws {
    let coordinator = try coordinator()
    try mergePolicy.checkRules(in: coordinator.managedObjectModel)
    defer { lease.endOffers() }
    let gathered = try gatherRecords()
    let derivedValues = DerivedValues(in: coordinator, by: transactionAuthor)
    let hasDerived = coordinator.managedObjectModel.hasDerivedAttributes
    if hasDerived { storage.withPending { derivedValues.derive(gathered) } }
    do {
      try write(gathered, derivedValues, coordinator)
    } catch {
      if hasDerived { storage.withPending { DerivedValues.revert(gathered.records) } }
      throw error
    }
  }

  /// Writes the gathered records and publishes the committed changes.
  private final func write(
    _ gathered: GatheredRecords, _ derivedValues: DerivedValues, _ coordinator: PersistentStoreCoordinator
  ) throws {
    let (units, permanentIDs) = try keyedUnits(of: gathered, derivedValues, coordinator)
    // The state in which the links were read ends before the store needs a connection to save.
    lease.offerForSave()
    var published = ChangeSet()
    published.links = units.contains { !$0.unit.links.isEmpty } ? SavedLinks(number: SaveClock.begin()) : nil
    var committedChanges = CommittedChanges(for: coordinator)
    let runningSave = coordinator.storeEventHub.begin()
    var savedObjects: [ManagedObject] = []
    let result = Result {
      try execute(
        units, SaveExecution(self, coordinator, permanentIDs, derivedValues), publishingInto: &published,
        &committedChanges, &savedObjects)
    }
    lease.endOffers()
    coordinator.countSave()
    if case .success = result {
      // Before observers and hooks are called: their lost changes and their signals belong to the next save.
      storage.reports.removeAll()
      pendingSignals = []
    }
    if !published.isEmpty || !published.permanentIDs.isEmpty { propagate(published, passesParents: savesPastParent) }
    // Posted last, so that the following contexts have the changes when a reader of a stream fetches.
    committedChanges.post(to: coordinator, runningSave)
    if case .failure(let error as CoherenceError) = result, error.outcome == .unknown {
      noteCommit()
      coordinator.storeEventHub.post(.everything)
    }
    awakenLoaded()
    noteSaved(savedObjects)
    try result.get()
  }

  /// Reserves keys for the fresh records, and gathers the units of work.
  ///
  /// A failed save has reserved keys in the stores that the relationships of its time chose. A relationship that now leads
  /// out of these stores makes the records get other keys, in the stores that their present relationships choose.
  private final func keyedUnits(
    of gathered: GatheredRecords, _ derivedValues: DerivedValues, _ coordinator: PersistentStoreCoordinator
  ) throws -> ([StoreUnit], PermanentIDs) {
    do {
      return try gatherUnits(of: gathered, derivedValues, coordinator)
    } catch let error as CoherenceError where error.code == .relationshipCrossesStores {
      KeyReservation.releaseKeys(of: gathered.records)
      return try gatherUnits(of: gathered, derivedValues, coordinator)
    }
  }

  private final func gatherUnits(
    of gathered: GatheredRecords, _ derivedValues: DerivedValues, _ coordinator: PersistentStoreCoordinator
  ) throws -> ([StoreUnit], PermanentIDs) {
    // The store allocates keys over another connection. A unit of work must not wait for a connection while it holds
    // one, so that the readers are offered: a store takes back the connection of an offered reader.
    lease.offerForSave()
    try KeyReservation(in: coordinator, of: storage).reserveKeys(for: gathered.records)
    let permanentIDs = PermanentIDs(reservedFor: gathered.records)
    let units = try UnitGatherer(self, gathered, permanentIDs, derivedValues).units(in: coordinator)
    return (units, permanentIDs)
  }

  /// Writes each unit into its store and publishes it before the next unit is written, so that the objects of a
  /// committed store are clean even when another store fails.
  private final func execute(
    _ units: [StoreUnit], _ execution: SaveExecution, publishingInto changes: inout ChangeSet,
    _ committedChanges: inout CommittedChanges, _ savedObjects: inout [ManagedObject]
  ) throws {
    var outcomes = SaveOutcomes(of: units)
    for unit in units {
      let committed: CommittedUnit
      do {
        committed = try execution.commit(unit)
      } catch {
        let failure = outcomes.failure(unit.unit.explanation(of: error), of: unit.store)
        unit.unit.noteUnknownOutcome(after: error)
        // Afterwards, because the failure finds the refused records by their keys.
        unit.unit.releaseTakenKeys(after: error)
        throw failure
      }
      outcomes.noteCommit(in: unit.store)
      committedChanges.add(committed)
      savedObjects.reserveCapacity(savedObjects.count + committed.unit.changes.count)
      for change in committed.unit.changes where !change.record.changesPositionsOnly {
        if let object = change.object { savedObjects.append(object) }
      }
      publish(committed, into: &changes)
      if !committed.unit.links.isEmpty { changes.links?.add(committed.unit.links, in: unit.store.identifier) }
    }
  }

  /// Has the undo history forget the saved objects that an undo must leave, and calls `didSave` of all saved objects.
  final func noteSaved(_ objects: [ManagedObject]) {
    guard !objects.isEmpty else { return }
    if let history = storage.undo {
      let kept = objects.filter(\.entity.checked.isKeptByUndo)
      if !kept.isEmpty { history.forget(kept, formerly: []) }
    }
    callingHooks { objects.visit { $0.didSave() } }
  }

  /// Posts changes to parents, children, followers, their children, and observers. Changes that the stores have reach
  /// the followers of the parents too.
  ///
  /// - Parameter passesParents: Whether the stores have the changes, and not only the parent.
  final func propagate(_ changes: ChangeSet, passesParents: Bool) {
    noteCommit()
    var receivers: [ManagedObjectContext] = []
    var ancestor = passesParents ? parent : nil
    while let context = ancestor {
      context.noteCommit()
      receivers.append(context)
      receivers += context.listeners
      ancestor = context.parent
    }
    var reached: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    var due = (receivers + listeners)[...]
    while let receiver = due.popFirst() {
      guard reached.insert(ObjectIdentifier(receiver)).inserted else { continue }
      receiver.postToInbox(changes)
      // A child of a child gets new permanent identifiers from its parent, whose unsaved changes have the former
      // identifiers until the parent has processed its inbox.
      if !changes.permanentIDs.isEmpty, receiver.ancestors.contains(where: { $0 === self }) { continue }
      due += receiver.children
    }
    events.saves.send { changes }
    NotificationCenter.default.post(
      name: .managedObjectContextDidSave, object: self, userInfo: [NotificationKey.changes: changes])
  }

  // MARK: Identifiers

  /// Gives inserted objects their permanent identifiers before they are saved. Objects of other contexts, and objects
  /// with a permanent identifier, are left alone.
  ///
  /// To be called inside the context. Costs one reservation of keys for each hierarchy and store.
  ///
  /// - Throws: ``ErrorCode/noStore``, ``ErrorCode/contextWithoutStore``, and errors of the store. No object has a new
  ///   identifier then.
  public final func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    try operating {
      let records = objects.compactMap { object in
        object.storage === storage && object.recordID.isTemporaryID ? object.pending : nil
      }
      lease.end()
      try KeyReservation(in: coordinator(), of: storage).reserveKeys(for: records)
      storage.saveNumber.saving {
        var replaced: [ManagedObjectID: ManagedObjectID] = [:]
        for record in records {
          guard let object = record.object, let permanent = record.reservedID else { continue }
          replaced[record.id] = permanent
          rename(object, to: permanent)
        }
        postToChildren(replaced, referring: replaceReferences(replaced, of: records))
      }
    }
  }

  /// Chooses the store that an inserted object will be saved in. To be called inside the context.
  ///
  /// An object without an assigned store is saved in the store of the objects that it is related to, directly or over
  /// other inserted objects; without such a store, in the first writable store that holds its entity.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the entity; ``ErrorCode/storeDetached`` when the
  ///   store is not attached; ``ErrorCode/illegalState`` when the object is not inserted or has a permanent identifier
  ///   already.
  public final func assign(_ object: ManagedObject, to store: any PersistentStore) throws {
    try operating {
      guard let record = object.pending, record.kind == .inserted, object.recordID.isTemporaryID else {
        throw CoherenceError(.illegalState, "Only an inserted object without a permanent identifier can be assigned.")
      }
      guard try coordinator().persistentStores.contains(where: { $0 === store }) else {
        throw CoherenceError(.storeDetached, "The store is not attached to the context's coordinator; attach it first.")
      }
      guard store.environment.entities.contains(where: { $0 === object.entity }) else {
        throw CoherenceError(.noStore, "The store does not hold '\(object.entity.name)'.")
      }
      record.assignedStore = store.identifier
      // An earlier save may have stored the record under a key of this store.
      if record.reservedID?.storeIdentifier == store.identifier { return }
      (record.reservedID, record.mayBeStored) = (nil, false)
    }
  }
}
