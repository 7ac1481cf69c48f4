extension ManagedObjectContext {
  /// Changes records in the store without making objects of them, and refreshes the objects of this context, its parents
  /// and its followers. Unsaved changes are ignored. Values are checked by type, not by validation rules.
  ///
  /// One transaction for each store. A store that is a ``BatchExecuting`` reads no rows for it. To be called inside the
  /// context.
  ///
  /// - Returns: The identifiers of the changed records.
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``,
  ///   ``ErrorCode/missingValue``, ``ErrorCode/uniquenessViolated``, and errors of the store.
  @discardableResult
  public final func execute(_ request: BatchUpdateRequest) throws -> [ManagedObjectID] {
    try operating {
      let entity = try model().entity(named: request.entityName)
      var values = try checkedValues(request.values, of: entity)
      try DerivedValues().derive(&values, of: entity, request.includesSubentities)
      let query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
      lease.endForSave()
      defer { persistentStoreCoordinator?.saves.rise() }
      var changes = ChangeSet()
      for store in try coordinator().stores(holding: entity) {
        let ids = try (store as? any BatchExecuting)?.batchUpdate(query, values: values)
        changes.refreshed += try ids ?? BatchFallback(context: self, store: store).update(query, values: values)
      }
      publishBatch(changes)
      announce { $0.add(batch: changes.refreshed, of: entity, as: .updated) }
      return changes.refreshed
    }
  }

  /// Deletes records in the store without making objects of them, clears references to them, and removes their objects from
  /// this context, its parents and its followers. Delete rules are not applied.
  ///
  /// - Returns: The identifiers of the deleted records.
  /// - Throws: As ``execute(_:)-(BatchUpdateRequest)``.
  @discardableResult
  public final func execute(_ request: BatchDeleteRequest) throws -> [ManagedObjectID] {
    try operating {
      let entity = try model().entity(named: request.entityName)
      let query = try batchQuery(entity, request.predicate, includesSubentities: request.includesSubentities)
      lease.endForSave()
      defer { persistentStoreCoordinator?.saves.rise() }
      var changes = ChangeSet()
      for store in try coordinator().stores(holding: entity) {
        let batch = try (store as? any BatchExecuting)?.batchDelete(query)
        let outcome = try batch ?? BatchFallback(context: self, store: store).delete(query)
        changes.deleted += outcome.deleted
        changes.refreshed += outcome.updated
      }
      publishBatch(changes)
      announce { list in
        list.add(batch: changes.refreshed, as: .updated)
        list.add(batch: changes.deleted, of: entity, as: .deleted)
      }
      return changes.deleted
    }
  }

  private final func publishBatch(_ changes: ChangeSet) {
    guard !changes.isEmpty else { return }
    _ = inbox.post(changes)
    processInbox()
    storage.invalidateAllLists()
    spread(changes)
  }

  /// Posts the changes of a batch to the streams of changes by entity.
  private final func announce(_ fill: (inout EntityChangeList) -> Void) {
    guard let feed = persistentStoreCoordinator?.entityChangeFeed, feed.isObserved else { return }
    var list = EntityChangeList()
    fill(&list)
    feed.post(list)
  }

  private final func batchQuery(
    _ entity: EntityDescription, _ predicate: FetchPredicate?, includesSubentities: Bool
  ) throws -> StoreQuery {
    let prepared = try predicate.map {
      try PreparedPredicate($0.flattened().replacingReferences { current($0) }, for: entity)
    }
    return StoreQuery(entity: entity, includesSubentities: includesSubentities, predicate: prepared?.predicate)
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
      try attribute.checkIsAssignable()
      result[attribute.slot] = try attribute.type.checked(value)
    }
    return result
  }
}
