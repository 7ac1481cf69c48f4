// Identifiers without objects, and objects by identifier.

extension ManagedObjectContext {
  /// Returns the identifiers of the records that satisfy a request, in its order and range.
  ///
  /// Finds the same records as ``fetch(_:)``: unsaved changes count unless the request excludes them, and unsaved
  /// records have temporary identifiers. Makes no objects. The identifiers may be passed to any thread.
  ///
  /// Cost: one statement for each store, which returns the keys alone. Unsaved changes of records of the hierarchy, parts
  /// of the request that the store cannot evaluate exactly, and a second store with the entity have it return the rows.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func fetchIDs<R: ManagedObject>(_ request: FetchRequest<R>) throws -> [ManagedObjectID] {
    Array(try identifiers(request).ids)
  }

  /// Returns the first identifiers of the records that satisfy a request, without the records of read-only stores. Such
  /// a store would refuse a batch request for them, and so keep the records of the other stores from their change.
  ///
  /// Cost: as ``fetchIDs(_:)`` of the limited request. To be called in a context without unsaved changes, which would
  /// count for all stores.
  package final func writableIDs<R: ManagedObject>(
    _ request: FetchRequest<R>, limit: Int
  ) throws -> [ManagedObjectID] {
    try fetchIDs(request.inWritableStores().limit(limit))
  }

  /// The identifiers of the records that a request finds, with the plan of the request.
  final func identifiers<R: ManagedObject>(
    _ request: FetchRequest<R>
  ) throws -> (ids: IdentifierList, plan: FetchPlan) {
    try operating {
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        try reading(request) { plan in
          var sink = IdentifierSink(self)
          try FetchExecution(plan, in: self).run(into: &sink)
          return (sink.ids, plan)
        }
      } as: {
        .fetch(records: $0.ids.count)
      }
    }
  }

  /// Returns the objects with identifiers, loaded, in the order of the identifiers.
  ///
  /// The result leaves out missing records and records deleted by this context. The object of a repeated identifier is
  /// repeated. Objects with unsaved changes keep them.
  ///
  /// Cost: objects without values are loaded together, by one statement for each store and hierarchy; a store may
  /// divide thousands of keys among a few statements.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for a record of another class, ``ErrorCode/storeDetached``,
  ///   ``ErrorCode/contextWithoutStore``, and errors of the store.
  public final func objects<Object: ManagedObject>(
    for ids: some Collection<ManagedObjectID>, as type: Object.Type = ManagedObject.self
  ) throws -> [Object] {
    try operating {
      processInboxIfUsedDirectly()
      return try inOneState {
        try applyReadableDeleteRules()
        let ids = ids.map { current($0) }
        // Retained until the end, because the context does not retain clean objects.
        var found = try loadedObjects(ids)
        let result = try ids.compactMap { id in try found[id].flatMap { try $0.ifPresent(as: type) } }
        for object in result where object.recordID.isTemporaryID { object.exposeTemporaryID() }
        group(result)
        found.removeAll()
        return result
      }
    }
  }

  /// Loads the objects of records: the objects that the context has already, and new objects of the other records. The
  /// object of a missing record stays a fault, or is left out if the context has none.
  private final func loadedObjects(_ ids: [ManagedObjectID]) throws -> [ManagedObjectID: ManagedObject] {
    var found: [ManagedObjectID: ManagedObject] = [:]
    found.reserveCapacity(ids.count)
    var unloaded: Set<ManagedObjectID> = []
    for (id, object) in zip(ids, storage.registry.objects(for: ids)) {
      found[id] = object
      if object?.isFault != false { unloaded.insert(id) }
    }
    for object in objects(for: try loadRows(Array(unloaded))) { found[object.recordID] = object }
    return found
  }
}

extension ManagedObject {
  /// The object as an object of a class; `nil` when its record is missing or deleted.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for an object of another class.
  fileprivate final func ifPresent<Object: ManagedObject>(as type: Object.Type) throws(CoherenceError) -> Object? {
    guard !isFault, !flags.contains(.detached), pending?.kind != .deleted else { return nil }
    guard let object = self as? Object else { throw classError(type) }
    return object
  }
}
