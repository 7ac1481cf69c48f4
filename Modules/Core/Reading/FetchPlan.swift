/// A fetch request put to a context: names resolved, stores found, and whether unsaved changes matter.
struct FetchPlan {
  let query: StoreQuery
  let predicate: PreparedPredicate?
  let order: PreparedOrder?
  let stores: [any PersistentStore]
  /// The entities whose objects may be answered.
  let entities: [EntityDescription]
  /// Whether unsaved changes may decide which records are found.
  let needsOverlay: Bool
  /// Whether unsaved changes of other records may decide whether a record is found, so that stores cannot.
  let dependsOnUnsaved: Bool
  let returnsObjectsAsFaults: Bool
  let prefetches: PrefetchPaths

  init<Result>(_ request: FetchRequest<Result>, in context: ManagedObjectContext) throws {
    guard request.fetchOffset >= 0, request.fetchLimit.map({ $0 >= 0 }) != false else {
      throw CoherenceError(.invalidFetchRequest, "Limit and offset of a fetch request cannot be negative.")
    }
    let coordinator = try context.coordinator()
    let model = coordinator.managedObjectModel
    let entity = try request.entityName.map { try model.entity(named: $0) } ?? model.entity(for: Result.self)
    guard Result.self == ManagedObject.self || entity.concreteEntities.allSatisfy({ $0.objectClass is Result.Type })
    else {
      throw CoherenceError(
        .invalidFetchRequest,
        "The entity '\(entity.name)' has objects that are not of class '\(Result.self)'; name the class in the model.")
    }
    prefetches = try PrefetchPaths(request.relationshipsForPrefetching, of: entity)
    let predicate = try request.predicate.map {
      try PreparedPredicate($0.flattened().replacingReferences { context.current($0) }, for: entity)
    }
    let order = request.sortKeys.isEmpty ? nil : try PreparedOrder(request.sortKeys, for: entity)
    try context.processDeletes()
    query = StoreQuery(
      entity: entity, includesSubentities: request.includesSubentities, predicate: predicate?.predicate,
      sortKeys: request.sortKeys, limit: request.fetchLimit, offset: request.fetchOffset)
    self.predicate = predicate
    self.order = order
    entities = query.entities
    stores = try coordinator.stores(holding: entity)
    returnsObjectsAsFaults = request.returnsObjectsAsFaults
    guard request.includesPendingChanges else {
      needsOverlay = false
      dependsOnUnsaved = false
      return
    }
    let unsaved = UnsavedKinds(in: context)
    dependsOnUnsaved = unsaved.touch(predicate: predicate, sortKeys: request.sortKeys, of: entity)
    needsOverlay = dependsOnUnsaved || unsaved.roots.contains(ObjectIdentifier(entity.root))
  }

  func includes(_ entity: EntityDescription) -> Bool { entities.contains { $0 === entity } }

  /// The part of ordered results that the request asks for.
  func range<T>(of results: [T]) -> ArraySlice<T> {
    let start = min(query.offset, results.count)
    return results[
      start..<min(results.count, query.limit.map { start + min($0, results.count - start) } ?? results.count)]
  }

  var wantedRange: WantedRange { WantedRange(offset: query.offset, limit: query.limit) }
}

/// Counts results off while they stream by.
struct WantedRange {
  var offset: Int
  var limit: Int?

  /// Whether more results are wanted.
  var isOpen: Bool { limit != 0 }

  /// Counts one result off. Returns whether it is wanted.
  mutating func takeOne() -> Bool {
    if offset > 0 {
      offset -= 1
      return false
    }
    guard isOpen else { return false }
    limit = limit.map { $0 - 1 }
    return true
  }

  mutating func take(_ rows: [Row]) -> [Row] {
    let skipped = min(offset, rows.count)
    offset -= skipped
    let taken = limit.map { min($0, rows.count - skipped) } ?? rows.count - skipped
    if let limit { self.limit = limit - taken }
    return Array(rows[skipped..<(skipped + taken)])
  }
}

/// Which kinds of records a context and its parents have unsaved changes of.
private struct UnsavedKinds {
  var roots: Set<ObjectIdentifier> = []

  init(in context: ManagedObjectContext) {
    var ancestor: ManagedObjectContext? = context
    while let current = ancestor {
      for root in current.storage.changedRoots { roots.insert(ObjectIdentifier(root)) }
      ancestor = current.parent
    }
  }

  /// Whether a predicate or an order looks at records of such kinds beyond the fetched one itself.
  func touch(predicate: PreparedPredicate?, sortKeys: [SortKey], of entity: EntityDescription) -> Bool {
    guard !roots.isEmpty else { return false }
    if let dependencies = predicate?.dependencies {
      if dependencies.entities.contains(where: { roots.contains(ObjectIdentifier($0.root)) }) { return true }
      let touched = dependencies.relationships.flatMap { [$0.entity.root, $0.destination.root] }
      if touched.contains(where: { roots.contains(ObjectIdentifier($0)) }) { return true }
    }
    return sortKeys.contains { key in
      guard let path = try? ResolvedPath(key.path, from: entity) else { return false }
      return path.steps.contains { roots.contains(ObjectIdentifier($0.destination.root)) }
    }
  }
}
