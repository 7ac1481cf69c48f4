extension ManagedObjectContext {
  /// Inserts records into a store without making objects of them, and refreshes the objects of this context, its
  /// parents and its followers. Unsaved changes are ignored. Values are checked by type, and by whether a required
  /// property has one; not by validation rules.
  ///
  /// One transaction. A stored record with the unique values of a row is written only if its other values differ. A
  /// ``BatchUpserting`` store finds such records itself. Core reads them for any other store, for an entity with
  /// relatives in its table, when a ``SaveParticipant`` observes the records, and when a ``RelationshipDerivation``
  /// depends on them. To be called inside the context.
  ///
  /// - Parameter store: The store to insert into; `nil` for the first store that holds the entity and is not read-only.
  /// - Returns: The identifiers of the inserted and the changed records.
  /// - Throws: ``ErrorCode/unknownEntity``, also for an abstract entity; ``ErrorCode/unknownProperty``,
  ///   ``ErrorCode/wrongType``, ``ErrorCode/invalidValue``, ``ErrorCode/missingValue``, ``ErrorCode/noStore``,
  ///   ``ErrorCode/invalidFetchRequest`` for attributes without a uniqueness constraint;
  ///   ``ErrorCode/relationshipCrossesStores``, ``ErrorCode/danglingReference``, ``ErrorCode/uniquenessViolated``;
  ///   ``ErrorCode/storeDetached`` for a reference to a record of a detached store; and errors of participants and of
  ///   the store. Nothing is inserted then, unless the error's ``CoherenceError/outcome`` is unknown.
  @discardableResult
  public final func execute(
    _ request: BatchInsertRequest, in store: (any PersistentStore)? = nil
  ) throws -> BatchInsertResult {
    try writing {
      let entity = try model().entity(named: request.entityName)
      let store = try destination(of: entity, store)
      let insertion = try BatchInsertion(request, of: entity, in: store, by: self)
      guard !insertion.isEmpty else { return BatchInsertResult() }
      return try batch { committed in
        let recording = try recording { $0.isNeeded(toUpdate: entity, false) }
        var fallback = BatchFallback(self, store, recording)
        let outcome: BatchInsertion.Outcome
        do {
          outcome = try insertion.execute(by: &fallback)
        } catch {
          throw notingOutcome(of: error, in: &committed)
        }
        var changes = ChangeSet()
        changes.inserted = outcome.rows + fallback.added.rows
        changes.refreshed = outcome.updated
        changes.updated = fallback.derived
        publishBatch(changes)
        committed.add(inserted: outcome.rows, of: entity)
        committed.add(batch: outcome.updated, of: entity, as: .updated)
        if !outcome.updated.isEmpty { committed.add(relinked: insertion.movedLists) }
        committed.add(fallback.added)
        committed.add(derived: fallback.derived, besides: outcome.rows.map(\.id) + outcome.updated)
        return BatchInsertResult(inserted: outcome.rows.map(\.id), updated: outcome.updated)
      }
    }
  }

  private final func destination(
    of entity: EntityDescription, _ store: (any PersistentStore)?
  ) throws -> any PersistentStore {
    guard !entity.isAbstract else {
      throw CoherenceError(
        .unknownEntity, "'\(entity.name)' is abstract: a batch insert makes records of one of its subentities.")
    }
    let stores = try coordinator().storesForNewRecords(of: entity)
    guard let store else { return stores[0] }
    guard stores.contains(where: { $0 === store }) else {
      throw CoherenceError(
        .noStore,
        "The store of a batch insert is not attached to the context's coordinator, or does not hold '\(entity.name)'; "
          + "attach it, or name another store.")
    }
    return store
  }
}
