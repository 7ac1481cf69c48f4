extension ManagedObjectContext {
  /// Claims the first records that satisfy a request: sets values in them, so that no other claim takes them.
  ///
  /// ```swift
  /// let free = FetchRequest<Job>(entityName: "Job").filter(isFree).sort("enqueued")
  /// let mine = try context.claim(free, limit: 8, set: ["worker": name, "leaseEnd": now.addingTimeInterval(60)])
  /// ```
  ///
  /// The values must make a record stop satisfying the request. Then no two claims, in any thread or process, take the
  /// same record in the same state. Claims on a PostgreSQL server skip the records of running claims and saves, and
  /// never wait. Claims on other stores wait for the running save. A claim may return fewer records than its limit.
  ///
  /// One transaction for each store. Versions rise, and the objects of this context, its parents and its followers are
  /// refreshed. Unsaved changes are ignored; values are checked by type, not by validation rules. Stores are asked in
  /// the order of their attachment, until the limit is reached. Read-only stores are not asked, unless all stores with
  /// the entity are read-only or the call names the store. When a store fails without a change, the other
  /// stores are asked too: the claimed records are returned, and a claim that finds no record throws the error of the
  /// store.
  ///
  /// To be called inside the context. The cost grows with the number of claimed records, where the store has an index
  /// for the request.
  ///
  /// - Parameters:
  ///   - request: The condition and the order. A smaller ``FetchRequest/fetchLimit`` counts in place of the limit.
  ///   - limit: The greatest number of records.
  ///   - store: The only store to ask; `nil` for all stores that hold the entity and are not read-only.
  ///   - values: The new values by the names of their attributes; `nil` for no value.
  /// - Returns: The identifiers of the claimed records, in the order of the request for each store.
  /// - Throws: ``ErrorCode/invalidFetchRequest`` for a negative limit, an offset, and a claim without values;
  ///   ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``, ``ErrorCode/missingValue``,
  ///   ``ErrorCode/noStore``, ``ErrorCode/uniquenessViolated``; ``ErrorCode/versionConflict`` with
  ///   ``CoherenceError/isRetryable`` set when a store without ``RecordClaiming`` lost every race; errors of
  ///   participants and of the store. Nothing is claimed then, unless the error's ``CoherenceError/outcome`` is
  ///   unknown.
  @discardableResult
  public final func claim<Result: ManagedObject>(
    _ request: FetchRequest<Result>, limit: Int, in store: (any PersistentStore)? = nil,
    set values: [String: (any AttributeConvertible)?]
  ) throws -> [ManagedObjectID] {
    try claim(request, limit, store, values.mapValues { $0?.attributeValue ?? .null }).ids
  }

  /// Claims records as ``claim(_:limit:in:set:)`` does, and returns their objects with the claimed values. Costs no
  /// statement beside the claim in a ``RecordClaiming`` store.
  package final func claimObjects<Result: ManagedObject>(
    _ request: FetchRequest<Result>, limit: Int, set values: [String: (any AttributeConvertible)?]
  ) throws -> [Result] {
    let claimed = try claim(request, limit, nil, values.mapValues { $0?.attributeValue ?? .null })
    guard claimed.rows.count == claimed.ids.count else { return try objects(for: claimed.ids, as: Result.self) }
    return objects(for: claimed.rows).compactMap { $0 as? Result }
  }

  /// Claims the first records that satisfy a request of a class; see ``claim(_:limit:in:set:)``.
  ///
  /// ```swift
  /// try context.claim(free, limit: 8) {
  ///   $0.set(\.worker, to: name)
  ///   $0.set(\.leaseEnd, to: now.addingTimeInterval(60))
  /// }
  /// ```
  @discardableResult
  public final func claim<Root: DeclaredEntity>(
    _ request: FetchRequest<Root>, limit: Int, in store: (any PersistentStore)? = nil,
    changes: (inout BatchChanges<Root>) -> Void
  ) throws -> [ManagedObjectID] {
    var batch = BatchChanges<Root>()
    changes(&batch)
    guard batch.expressions.isEmpty else {
      throw CoherenceError(
        .invalidFetchRequest,
        "A claim of '\(Root.entityName)' calculates a value; a claim sets constant values, so that no other claim takes the "
          + "record.")
    }
    return try claim(request, limit, store, batch.values).ids
  }

  /// - Returns: The claimed records, with their rows as far as the stores have returned these.
  private final func claim<Result>(
    _ request: FetchRequest<Result>, _ limit: Int, _ store: (any PersistentStore)?, _ values: [String: AttributeValue]
  ) throws -> (ids: [ManagedObjectID], rows: [Row]) {
    try writing {
      let entity = try request.entity(in: model())
      let count = min(limit, request.fetchLimit ?? limit)
      var query = try claimQuery(request, limit, of: entity)
      guard !values.isEmpty else {
        throw CoherenceError(
          .invalidFetchRequest,
          "A claim of '\(entity.name)' sets no value, so that another claim would take the same records; set a value.")
      }
      var values = try checkedValues(values, of: entity)
      try DerivedValues(in: coordinator(), by: transactionAuthor).derive(
        &values, of: entity, request.includesSubentities)
      return try batch { committed in
        let recording = try recording { $0.isNeeded(toUpdate: entity, request.includesSubentities) }
        var changes = ChangeSet()
        var added = ParticipantRecords()
        var claimed: [Row] = []
        var firstFailure: (any Error)?
        for store in try claimableStores(of: entity, only: store) {
          query.limit = count - changes.refreshed.count
          guard query.limit != 0 else { break }
          var fallback = BatchFallback(self, store, recording)
          do {
            let isDirect = recording == nil && !concernsDerivations(entity, query, slots: SlotSet(values.keys))
            let rows = try store.writing {
              isDirect ? try (store as? any RecordClaiming)?.claim(query, setting: values) : nil
            }
            changes.refreshed += try rows?.map(\.id) ?? fallback.claim(query, values: values)
            claimed += rows ?? []
            changes.updated += fallback.derived
          } catch {
            let failure = notingOutcome(of: error, in: &committed)
            firstFailure = firstFailure ?? failure
            if (failure as? CoherenceError)?.outcome == .notApplied, !Task.isCancelled { continue }
            guard changes.refreshed.isEmpty else { break }
            throw failure
          }
          added.append(fallback.added)
        }
        if changes.refreshed.isEmpty, let firstFailure { throw firstFailure }
        changes.inserted = added.rows
        publishBatch(changes)
        committed.add(batch: changes.refreshed, of: entity, as: .updated, slots: SlotSet(values.keys))
        committed.add(added)
        committed.add(derived: changes.updated, besides: changes.refreshed)
        return (changes.refreshed, claimed)
      }
    }
  }

  /// The query of a claim, without its limit.
  private final func claimQuery<Result>(
    _ request: FetchRequest<Result>, _ limit: Int, of entity: EntityDescription
  ) throws -> StoreQuery {
    guard limit >= 0, request.fetchLimit ?? 0 >= 0, request.fetchOffset == 0 else {
      throw CoherenceError(
        .invalidFetchRequest,
        "A claim of '\(entity.name)' has a negative limit or an offset; claim the first records of the order.")
    }
    var query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
    _ = try PreparedOrder(request.sortKeys, for: entity)
    query.sortKeys = request.sortKeys
    return query
  }

  /// The stores that a claim asks, in the order of their attachment. Read-only stores are left out, because such a
  /// store would refuse the claim and keep the caller from the records of the other stores.
  private final func claimableStores(
    of entity: EntityDescription, only store: (any PersistentStore)?
  ) throws -> [any PersistentStore] {
    let stores = try coordinator().stores(holding: entity)
    guard let store else {
      let writable = stores.filter { !$0.environment.isReadOnly }
      return writable.isEmpty ? stores : writable
    }
    guard stores.contains(where: { $0 === store }) else {
      throw CoherenceError(
        .noStore,
        "The store of a claim is not attached to the context's coordinator, or does not hold '\(entity.name)'; "
          + "attach it, or name another store.")
    }
    return [store]
  }
}
