extension ManagedObjectContext {
  /// Changes records in the store without making objects of them, and refreshes the objects of this context, its
  /// parents and its followers. Unsaved changes are ignored. Values are checked by type, not by validation rules.
  ///
  /// One transaction for each store. A ``BatchExecuting`` store changes the records without a read by Core. A
  /// ``BatchCalculating`` store also adds a constant to an integer, subtracts it, or multiplies by it. Core reads and
  /// saves the records for any other store or calculation, when a ``SaveParticipant`` observes the records, and when a
  /// ``RelationshipDerivation`` depends on a changed attribute. Concurrent calculations never lose each other's result,
  /// and report no conflict. A store that only reads is left out if it has none of the records. To be called inside the
  /// context.
  ///
  /// - Returns: The identifiers of the changed records.
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``,
  ///   ``ErrorCode/missingValue``, ``ErrorCode/invalidValue``, also for a result out of range;
  ///   ``ErrorCode/invalidFetchRequest`` for an attribute with a value and a calculation;
  ///   ``ErrorCode/uniquenessViolated``, and errors of participants and of the store; ``ErrorCode/partialSave`` when a
  ///   store failed after another store had changed records.
  @discardableResult
  public final func execute(_ request: BatchUpdateRequest) throws -> [ManagedObjectID] {
    try writing {
      let entity = try model().entity(named: request.entityName)
      let assignments = try BatchAssignments(request, of: entity, in: self)
      let query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
      let stores = try batchStores(of: query).filter { store in
        (request.includesReadOnlyStores || !store.environment.isReadOnly)
          && request.storeIdentifiers?.contains(store.identifier) != false
      }
      return try batch { committed in
        let recording = try recording { $0.isNeeded(toUpdate: entity, request.includesSubentities) }
        var changes = ChangeSet()
        var added = ParticipantRecords()
        let outcomes = BatchOutcomes(in: stores) { store in
          var fallback = BatchFallback(self, store, recording)
          let isDirect = recording == nil && !concernsDerivations(entity, query, slots: assignments.changedSlots)
          let ids = isDirect ? try assignments.execute(query, in: store) : nil
          changes.refreshed += try ids ?? fallback.update(query, values: assignments.values)
          changes.updated += fallback.derived
          added.append(fallback.added)
        }
        changes.inserted = added.rows
        publishBatch(changes)
        committed.add(batch: changes.refreshed, of: entity, as: .updated, slots: assignments.changedSlots)
        committed.add(added)
        committed.add(derived: changes.updated, besides: changes.refreshed)
        if let failure = outcomes.failure(hasChanges: !changes.isEmpty) {
          throw notingOutcome(of: failure, in: &committed)
        }
        return changes.refreshed
      }
    }
  }

  /// Deletes records in the store without making objects of them, clears references to them, and removes their objects
  /// from this context, its parents and its followers. Delete rules are not applied. Unsaved changes are ignored. One
  /// transaction for each store; a ``BatchExecuting`` store deletes the records without a read by Core. A store that
  /// only reads is left out if it has none of the records. To be called inside the context.
  ///
  /// - Returns: The identifiers of the deleted records.
  /// - Throws: As ``execute(_:)-(BatchUpdateRequest)``.
  @discardableResult
  public final func execute(_ request: BatchDeleteRequest) throws -> [ManagedObjectID] {
    try writing {
      let entity = try model().entity(named: request.entityName)
      let query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
      let stores = try batchStores(of: query)
      return try batch { committed in
        let recording = try recording { $0.isNeeded(toDelete: entity, request.includesSubentities) }
        var changes = ChangeSet()
        var added = ParticipantRecords()
        let outcomes = BatchOutcomes(in: stores) { store in
          var fallback = BatchFallback(self, store, recording)
          let isDirect = recording == nil && !concernsDerivations(entity, query, slots: nil)
          let batch = try store.writing { isDirect ? try (store as? any BatchExecuting)?.batchDelete(query) : nil }
          let outcome = try batch ?? fallback.delete(query)
          changes.updated += fallback.derived
          changes.deleted += outcome.deleted
          changes.refreshed += outcome.updated
          added.append(fallback.added)
        }
        changes.inserted = added.rows
        publishBatch(changes)
        committed.add(batch: changes.refreshed, as: .updated)
        committed.add(batch: changes.deleted, of: entity, as: .deleted)
        if !changes.deleted.isEmpty { committed.add(relinked: try model().lists(of: entity)) }
        committed.add(added)
        committed.add(derived: changes.updated, besides: changes.refreshed)
        if let failure = outcomes.failure(hasChanges: !changes.isEmpty) {
          throw notingOutcome(of: failure, in: &committed)
        }
        return changes.deleted
      }
    }
  }

  /// The stores of a batch request: the stores with the entity, except for stores that only read and have none of the
  /// records. Such a store would refuse the request, and so keep the records of the other stores from their change.
  final func batchStores(of query: StoreQuery) throws -> [any PersistentStore] {
    var first = query
    first.limit = 1
    return try coordinator().stores(holding: query.entity).filter { store in
      guard storeIdentifiers?.contains(store.identifier) != false else { return false }
      guard store.environment.isReadOnly else { return true }
      return try !firstRows(of: first, in: store).isEmpty
    }
  }

  /// Whether a batch request changes records on which derived attributes of other records depend. Core then executes
  /// the request itself, because only the former rows name the former owners of changed members.
  ///
  /// - Parameter slots: The changed slots; `nil` for deletes.
  final func concernsDerivations(_ entity: EntityDescription, _ query: StoreQuery, slots: SlotSet?) -> Bool {
    guard let index = persistentStoreCoordinator?.managedObjectModel.derivations, !index.isEmpty else { return false }
    return index.isConcerned(by: query.entities, slots: slots)
  }

  /// The participants of a batch request; `nil` when no participant observes its records.
  final func recording(_ isNeeded: (SaveRecording) -> Bool) throws -> SaveRecording? {
    try SaveRecording(of: self, in: coordinator()).flatMap { isNeeded($0) ? $0 : nil }
  }

  /// Merges the changes of a batch request into this context, as its inbox merges saves of other contexts, and passes
  /// them to its parents and followers. Loaded lists become out of date, because the changes do not name former owners.
  final func publishBatch(_ changes: ChangeSet) {
    guard !changes.isEmpty else { return }
    _ = inbox.post(changes)
    processInbox()
    touchOwners()
    storage.invalidateAllLists()
    propagate(changes, passesParents: true)
  }

  /// Returns the failure of a batch request. After an unknown outcome, live results read everything again, because the
  /// store may have the changes.
  final func notingOutcome(of failure: any Error, in committed: inout CommittedChanges) -> any Error {
    if (failure as? CoherenceError)?.outcome == .unknown {
      committed.dropUncertain()
      noteCommit()
    }
    return failure
  }

  /// Makes the changes of a batch request, counts the request as a save, and posts its changes to the streams and the
  /// live results of the coordinator, also after an error.
  ///
  /// - Parameter body: Makes the changes, and adds them to the list.
  final func batch<T>(_ body: (inout CommittedChanges) throws -> T) throws -> T {
    lease.endForSave()
    let coordinator = try coordinator()
    let runningSave = coordinator.storeEventHub.begin()
    var committed = CommittedChanges(for: coordinator)
    defer {
      coordinator.countSave()
      committed.post(to: coordinator, runningSave)
    }
    return try body(&committed)
  }

  /// The query of a batch request, with permanent identifiers in its condition.
  final func batchQuery(
    _ entity: EntityDescription, _ predicate: FetchPredicate?, includesSubentities: Bool
  ) throws -> StoreQuery {
    let prepared = try predicate.map {
      try PreparedPredicate($0.flattened().replacingReferences { current($0) }, for: entity)
    }
    return StoreQuery(entity: entity, includesSubentities: includesSubentities, predicate: prepared?.predicate)
  }

  /// Returns new values of a batch request by slot, checked by type and converted to their stored form.
  final func checkedValues(
    _ values: [String: AttributeValue], of entity: EntityDescription
  ) throws -> [Int: AttributeValue] {
    var result: [Int: AttributeValue] = [:]
    for (name, value) in values {
      guard let attribute = try entity.property(named: name) as? AttributeDescription else {
        throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is a relationship; a batch sets attributes only.")
      }
      guard !value.isNull || attribute.isOptional else {
        throw CoherenceError(
          .missingValue, "'\(entity.name).\(name)' is required and cannot be set to null; give the attribute a value.")
      }
      try attribute.checkIsAssignable()
      result[attribute.slot] = try attribute.type.checked(value)
    }
    return result
  }
}

extension ManagedObjectModel {
  /// The to-many relationships whose members may be records of an entity.
  fileprivate func lists(of entity: EntityDescription) -> [RelationshipDescription] {
    entities.flatMap(\.relationships).filter { $0.isToMany && $0.destination.root === entity.root }
  }
}
