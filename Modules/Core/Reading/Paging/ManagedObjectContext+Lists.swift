extension ManagedObjectContext {
  /// Returns the objects that a request finds as a collection that holds identifiers, and loads the objects by pages
  /// when they are used: see ``ObjectList``.
  ///
  /// ```swift
  /// let tracks = try context.list(FetchRequest(Track.self).sort(\.title).batchSize(100))
  /// ```
  /// The records and their order are those of ``fetch(_:)``: unsaved changes count unless the request leaves them out.
  /// The request's `relationshipsForPrefetching` are loaded with each page; `returnsObjectsAsFaults` has no effect.
  ///
  /// Call it inside `perform`, or on the context's actor or thread.
  ///
  /// Cost: one statement for each store, as ``fetchIDs(_:)``; unsaved records become objects, which the list retains. Then
  /// one statement for each used page.
  ///
  /// - Parameter batchSize: The number of records of a page, at least 1; `nil` for the request's
  ///   ``FetchRequest/fetchBatchSize``, or 256 for a request without one.
  /// - Throws: As ``fetch(_:)``; ``ErrorCode/invalidFetchRequest`` for a batch size below 1.
  public final func list<Result: ManagedObject>(
    _ request: FetchRequest<Result>, batchSize: Int? = nil
  ) throws -> ObjectList<Result> {
    try operating {
      if let batchSize { try checkBatchSize(batchSize) }
      let (ids, plan) = try identifiers(request)
      let size = batchSize ?? request.pageSize
      return ObjectList(
        ObjectPages(
          ids, of: plan.entities(withObjectsOf: Result.self), in: self, size: size, prefetching: plan.prefetches,
          unsaved: unsavedObjects(of: ids)))
    }
  }

  /// The objects of identifiers, loaded by pages.
  ///
  /// - Throws: ``ErrorCode/invalidFetchRequest`` for a batch size below 1; ``ErrorCode/contextWithoutStore``.
  final func list<Object: ManagedObject>(
    of ids: some IdentifierSource, as type: Object.Type, batchSize: Int
  ) throws -> ObjectList<Object> {
    try checkBatchSize(batchSize)
    let entities = try model().entities.filter { !$0.isAbstract && $0.objectClass is Object.Type }
    return ObjectList(ObjectPages(ids, of: entities, in: self, size: batchSize))
  }

  private final func checkBatchSize(_ size: Int) throws(CoherenceError) {
    guard size < 1 else { return }
    throw CoherenceError(
      .invalidFetchRequest, "The batch size of a list is \(size), but a page has at least one record.")
  }

  /// The objects of the unsaved records among identifiers, by their temporary identifiers.
  private final func unsavedObjects(of ids: IdentifierList) -> [ManagedObjectID: ManagedObject] {
    var objects: [ManagedObjectID: ManagedObject] = [:]
    guard ids.hasTemporaryIDs else { return objects }
    // A parent may have dropped its record since the fetch: the element is the object of a vanished record then.
    for id in ids where id.isTemporaryID { objects[id] = try? fault(for: id, of: id.entity) }
    return objects
  }
}

extension FetchPlan {
  /// The entities of the plan whose objects are of a class.
  func entities<Object: ManagedObject>(withObjectsOf type: Object.Type) -> [EntityDescription] {
    entities.filter { $0.objectClass is Object.Type }
  }
}

extension FetchRequest {
  /// The number of records of a page.
  var pageSize: Int { fetchBatchSize > 0 ? fetchBatchSize : ObjectPages.defaultSize }
}
