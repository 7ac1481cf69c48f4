/// A fetch request with resolved names, with its stores, and with the decision which unsaved changes matter.
///
/// A plan is a value. Planning reads no records and changes nothing in the context.
struct FetchPlan {
  private(set) var query: StoreQuery
  let predicate: PreparedPredicate?
  private(set) var order: PreparedOrder?
  let stores: [any PersistentStore]
  /// The entities of the records that the request may find.
  let entities: [EntityDescription]
  /// Whether unsaved changes may change the set of found records.
  private(set) var needsOverlay: Bool
  /// Whether unsaved changes of other records may decide whether a record matches. The context then evaluates the
  /// predicate for every record of the entity.
  private(set) var dependsOnUnsaved: Bool
  /// The saved records about which unsaved changes of other records decide, if the context evaluates only them.
  private(set) var dependents: [ManagedObjectID: RecordState] = [:]
  /// Whether the found records become faults instead of loaded objects.
  let returnsObjectsAsFaults: Bool
  let prefetches: PrefetchPaths

  /// - Parameters:
  ///   - storeIdentifiers: The stores of the context; `nil` for all stores.
  ///   - scope: A further condition, which only reads values of the record itself.
  ///   - current: Returns the present identifier of a record for a former one, which a predicate may contain.
  ///   - unsaved: The hierarchies with unsaved records, after the delete rules.
  init<Result>(
    _ request: FetchRequest<Result>, in coordinator: PersistentStoreCoordinator,
    among storeIdentifiers: Set<StoreIdentifier>? = nil, within scope: FetchPredicate? = nil,
    current: (ManagedObjectID) -> ManagedObjectID, unsaved: UnsavedHierarchies
  ) throws {
    let entity = try request.entity(in: coordinator.managedObjectModel)
    prefetches = try PrefetchPaths(request.relationshipsForPrefetching, of: entity)
    let requested = try request.predicate.map {
      try PreparedPredicate($0.flattened().replacingReferences(current), for: entity)
    }
    let predicate =
      try scope.map { scope in
        try PreparedPredicate(requested.map { .and([scope, $0.predicate]) } ?? scope, for: entity)
      } ?? requested
    let order = request.sortKeys.isEmpty ? nil : try PreparedOrder(request.sortKeys, for: entity)
    query = StoreQuery(
      entity: entity, includesSubentities: request.includesSubentities, predicate: predicate?.predicate,
      sortKeys: request.sortKeys, limit: request.fetchLimit, offset: request.fetchOffset)
    self.predicate = predicate
    self.order = order
    entities = query.entities
    stores = try coordinator.stores(holding: entity).filter { store in
      (request.includesReadOnlyStores || !store.environment.isReadOnly)
        && request.storeIdentifiers?.contains(store.identifier) != false
        && storeIdentifiers?.contains(store.identifier) != false
    }
    returnsObjectsAsFaults = request.returnsObjectsAsFaults
    dependsOnUnsaved = unsaved.areRead(by: requested, sortKeys: request.sortKeys, of: entity)
    needsOverlay = dependsOnUnsaved || unsaved.contains(entity.root)
  }

  /// Whether the request may find records of an entity.
  func includes(_ entity: EntityDescription) -> Bool { entities.contains { $0 === entity } }

  /// Returns the plan without an order, for a sink that ignores the order.
  func unordered() -> FetchPlan {
    var plan = self
    plan.order = nil
    plan.query.sortKeys = []
    return plan
  }

  /// Returns the plan for a sink that reads unsaved changes of other records.
  func dependingOnUnsaved() -> FetchPlan {
    var plan = self
    plan.dependsOnUnsaved = true
    plan.needsOverlay = true
    return plan
  }

  /// Returns the query for the records of the plan, without order and range, without some records.
  func query(except ids: [ManagedObjectID]) -> StoreQuery {
    var query = unorderedQuery
    guard !ids.isEmpty else { return query }
    let exclusion: FetchPredicate = .not(.membership(.path(.own), in: ids.map(AttributeValue.reference)))
    query.predicate = query.predicate.map { .and([$0, exclusion]) } ?? exclusion
    return query
  }

  /// Returns the plan with the saved records about which unsaved changes of other records decide. The context evaluates
  /// them as it evaluates unsaved records, and no other saved record.
  func depending(onlyFor dependents: [ManagedObjectID: RecordState]) -> FetchPlan {
    var plan = self
    plan.dependsOnUnsaved = false
    plan.dependents = dependents
    return plan
  }

  // MARK: Queries

  /// Whether unsaved records can be merged into ordered rows: all rows come from one store, and the order only depends
  /// on values in the rows.
  var isMergeable: Bool { stores.count == 1 && isOrderOfRows }

  /// Whether each store orders its rows as the context does, with unsaved changes too.
  private var isOrderOfRows: Bool {
    !needsOverlay || !dependsOnUnsaved && order?.dependencies.relationships.isEmpty != false
  }

  /// Returns the query for ordered rows. Unsaved records replace some rows, so that the limit is raised by their
  /// number.
  ///
  /// - Parameter count: The greatest number of rows that unsaved records replace.
  func orderedQuery(replacing count: Int) -> StoreQuery { needsOverlay ? firstRows(replacing: count) : query }

  /// Returns the query for the candidates of a result that the context orders itself. With a limit, each store returns
  /// its first rows alone, if it orders them as the context does.
  ///
  /// - Parameter count: The greatest number of rows that unsaved records replace.
  func candidateQuery(replacing count: Int) -> StoreQuery {
    let query = firstRows(replacing: count)
    return isOrderOfRows && query.limit != nil ? query : unorderedQuery
  }

  /// The query for the first ordered rows, up to the end of the range.
  private func firstRows(replacing count: Int) -> StoreQuery {
    var query = query
    // The context skips the offset itself, because other records may come before the first rows.
    query.offset = 0
    query.limit = self.query.limit.flatMap { limit in
      let (before, isBeyond) = self.query.offset.addingReportingOverflow(count)
      let (sum, isTooLarge) = limit.addingReportingOverflow(before)
      return isBeyond || isTooLarge ? nil : sum
    }
    return query
  }

  /// The query for all candidates, in any order. It has no predicate if unsaved changes of other records decide about
  /// the predicate.
  var unorderedQuery: StoreQuery {
    var query = query
    query.sortKeys = []
    query.limit = nil
    query.offset = 0
    if dependsOnUnsaved { query.predicate = nil }
    return query
  }

  // MARK: Range

  var range: FetchRange { FetchRange(offset: query.offset, limit: query.limit) }
}

extension FetchRequest {
  /// Checks the request for a model, and returns the request's entity.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``; ``ErrorCode/invalidFetchRequest`` for a negative limit, offset or batch
  ///   size, and for an entity with objects of another class than `Result`.
  func entity(in model: ManagedObjectModel) throws(CoherenceError) -> EntityDescription {
    guard fetchOffset >= 0, fetchLimit.map({ $0 >= 0 }) != false else {
      throw CoherenceError(.invalidFetchRequest, "Limit and offset of a fetch request cannot be negative.")
    }
    guard fetchBatchSize >= 0 else {
      throw CoherenceError(
        .invalidFetchRequest, "The batch size of a fetch request cannot be negative; zero stands for no batches.")
    }
    let entity =
      if let entityName { try model.entity(named: entityName) } else { try model.entity(for: Result.self) }
    guard Result.self == ManagedObject.self || entity.concreteEntities.allSatisfy({ $0.objectClass is Result.Type })
    else {
      throw CoherenceError(
        .invalidFetchRequest,
        "The entity '\(entity.name)' has objects that are not of class '\(Result.self)'; name the class in the model.")
    }
    return entity
  }
}
