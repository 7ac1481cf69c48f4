extension ManagedObjectContext {
  /// Changes records in the store, without making objects of them, and brings the objects that this context, its
  /// parents and its followers have up to date. Unsaved changes are not looked at; values are checked by type, not by
  /// validation rules.
  ///
  /// - Returns: The identifiers of the changed records.
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``,
  ///   ``ErrorCode/missingValue``, ``ErrorCode/uniquenessViolated``, and errors of the store.
  @discardableResult
  public final func execute(_ request: BatchUpdateRequest) throws -> [ManagedObjectID] {
    try operating {
      let entity = try model().entity(named: request.entityName)
      let values = try checkedValues(request.values, of: entity)
      let query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
      lease.endForSave()
      var changes = ChangeSet()
      for store in try coordinator().stores(holding: entity) {
        if let ids = try (store as? any BatchExecuting)?.batchUpdate(query, values: values) {
          changes.refreshed += ids
        } else {
          changes.refreshed += try updateByFetching(query, values)
          break
        }
      }
      settleBatch(changes)
      return changes.refreshed
    }
  }

  /// Deletes records in the store, without making objects of them, clears references to them, and removes their
  /// objects from this context, its parents and its followers. Delete rules are not applied.
  ///
  /// - Returns: The identifiers of the deleted records.
  /// - Throws: As ``execute(_:)-(BatchUpdateRequest)``.
  @discardableResult
  public final func execute(_ request: BatchDeleteRequest) throws -> [ManagedObjectID] {
    try operating {
      let entity = try model().entity(named: request.entityName)
      let query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
      lease.endForSave()
      var changes = ChangeSet()
      for store in try coordinator().stores(holding: entity) {
        if let outcome = try (store as? any BatchExecuting)?.batchDelete(query) {
          changes.deleted += outcome.deleted
          changes.refreshed += outcome.updated
        } else {
          changes.deleted += try deleteByFetching(query)
          break
        }
      }
      settleBatch(changes)
      return changes.deleted
    }
  }

  private final func settleBatch(_ changes: ChangeSet) {
    guard !changes.isEmpty else { return }
    _ = inbox.post(changes)
    drainInbox()
    storage.outdateAllLists()
    spread(changes)
  }

  private final func batchQuery(
    _ entity: EntityDescription, _ predicate: FetchPredicate?, includesSubentities: Bool
  ) throws -> StoreQuery {
    if let predicate { _ = try PreparedPredicate(predicate, for: entity) }
    return StoreQuery(entity: entity, includesSubentities: includesSubentities, predicate: predicate)
  }

  private final func checkedValues(
    _ values: [String: AttributeValue], of entity: EntityDescription
  ) throws -> [Int: AttributeValue] {
    var result: [Int: AttributeValue] = [:]
    for (name, value) in values {
      guard let attribute = try entity.property(named: name) as? AttributeDescription else {
        throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is a relationship; a batch sets attributes only.")
      }
      guard !value.isNull || attribute.isOptional else {
        throw CoherenceError(.missingValue, "'\(entity.name).\(name)' needs a value.")
      }
      result[attribute.slot] = try attribute.type.checked(value)
    }
    return result
  }

  // MARK: For stores that cannot

  private final func byFetching(
    _ query: StoreQuery, _ change: (ManagedObjectContext, ManagedObject) throws -> Void
  ) throws -> [ManagedObjectID] {
    let worker = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: try coordinator())
    return try worker.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: query.entity.name)
      request.predicate = query.predicate
      request.includesSubentities = query.includesSubentities
      let objects = try worker.fetch(request)
      let ids = objects.map(\.id)
      for object in objects { try change(worker, object) }
      try worker.save()
      return ids
    }
  }

  private final func updateByFetching(
    _ query: StoreQuery, _ values: [Int: AttributeValue]
  ) throws -> [ManagedObjectID] {
    try byFetching(query) { _, object in for (slot, value) in values { try object.write(value, at: slot) } }
  }

  private final func deleteByFetching(_ query: StoreQuery) throws -> [ManagedObjectID] {
    try byFetching(query) { worker, object in worker.delete(object) }
  }
}
