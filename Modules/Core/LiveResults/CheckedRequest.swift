/// A request for a live result, with names checked against the model. May be made on any thread.
struct CheckedRequest: Sendable {
  /// The request without its range and its prefetches.
  let request: FetchRequest<ManagedObject>
  let range: FetchRange
  /// Whether the request has an offset or a limit.
  let isRange: Bool
  let hasSections: Bool
  let interest: ResultInterest
  /// The identifiers in the predicate.
  let namedIDs: Set<ManagedObjectID>

  /// Checks a request.
  ///
  /// - Throws: The errors of a fetch for an invalid request; ``ErrorCode/invalidFetchRequest`` for a section key path
  ///   other than the path of the first sort key.
  init<Result>(
    _ request: FetchRequest<Result>, sectionKeyPath: String?, in coordinator: PersistentStoreCoordinator
  ) throws {
    let entity = try request.entity(in: coordinator.managedObjectModel)
    let predicate = try request.predicate.map { try PreparedPredicate($0.flattened(), for: entity) }
    _ = try PreparedOrder(request.sortKeys, for: entity)
    _ = try coordinator.stores(holding: entity)
    if let sectionKeyPath {
      guard let first = request.sortKeys.first, first.path.names.joined(separator: ".") == sectionKeyPath else {
        throw CoherenceError(
          .invalidFetchRequest,
          "The section key path '\(sectionKeyPath)' of '\(entity.name)' is not the path of the first sort key; sort by "
            + "'\(sectionKeyPath)' first.")
      }
    }
    // The replacement visits every identifier of the predicate; its result is not needed.
    var namedIDs: Set<ManagedObjectID> = []
    _ = predicate?.predicate.replacingReferences { id in
      namedIDs.insert(id)
      return id
    }
    self.namedIDs = namedIDs
    hasSections = sectionKeyPath != nil
    range = FetchRange(offset: request.fetchOffset, limit: request.fetchLimit)
    isRange = request.fetchOffset > 0 || request.fetchLimit != nil
    var plain = FetchRequest<ManagedObject>(entityName: entity.name)
    plain.predicate = request.predicate
    plain.sortKeys = request.sortKeys
    plain.includesSubentities = request.includesSubentities
    plain.includesPendingChanges = request.includesPendingChanges
    self.request = plain
    var isFetched = [Bool](repeating: false, count: coordinator.managedObjectModel.entities.count)
    for entity in StoreQuery(entity: entity, includesSubentities: request.includesSubentities).entities {
      isFetched[entity.position] = true
    }
    interest = ResultInterest(
      isFetched: isFetched, entity: entity, includesSubentities: request.includesSubentities,
      dependencies: try ResultDependencies(predicate?.predicate, request.sortKeys, of: entity),
      only: request.predicate?.savedRecord)
  }
}

extension FetchPredicate {
  /// The only possible result of a predicate that compares the record itself with a saved identifier; `nil` for other
  /// predicates.
  var savedRecord: ManagedObjectID? {
    guard case .comparison(.path(let path), .equal, .value(.reference(let id)), _) = self, path == .own,
      !id.isTemporaryID
    else { return nil }
    return id
  }
}
