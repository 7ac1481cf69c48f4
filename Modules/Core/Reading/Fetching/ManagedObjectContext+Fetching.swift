extension ManagedObjectContext {
  /// Returns the objects of the records that satisfy a request, in its order.
  ///
  /// Unsaved changes of the context and its parents count, unless the request excludes them: the fetch finds inserted
  /// records, does not find deleted records, and finds changed records by their new values. The meaning of predicates
  /// and the order are the same on every store; see ``SortKey`` for the order.
  ///
  /// A record has one object in a context: the fetch returns the context's existing object, with its unsaved changes.
  /// All reads of one fetch see one state of each store.
  ///
  /// To be called inside the context; the call waits for the store. Before the read, the delete rules of deleted
  /// objects are applied. The first operation of a turn of the main queue merges the saves of other contexts, and so
  /// does each fetch of a context that belongs to a thread.
  ///
  /// Cost: one statement for each store, and one object for each record without one. If predicate or order lead over
  /// relationships to records with unsaved changes, the context evaluates the request over all records of the entity.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/invalidPredicate``,
  ///   ``ErrorCode/invalidFetchRequest``, ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``,
  ///   ``ErrorCode/cancelled`` when the task is cancelled during the fetch, and errors of the store.
  public final func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try operating {
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        let objects = try reading(request) { plan in try self.objects(of: plan) }
        awaken(objects)
        return objects.downcast(to: Result.self)
      } as: {
        .fetch(records: $0.count)
      }
    }
  }

  /// Returns the first object that a fetch of the request would return; `nil` for none.
  ///
  /// Cost: that of ``fetch(_:)`` with a limit of one record. A store that evaluates condition and order reads one record,
  /// while `fetch(request).first` reads all of them and makes their objects.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func fetchFirst<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result? {
    var request = request
    request.fetchLimit = min(request.fetchLimit ?? 1, 1)
    return try fetch(request).first
  }

  /// Returns the objects of the records that a plan finds.
  final func objects(of plan: FetchPlan) throws -> [ManagedObject] {
    var objects = ObjectSink(plan, in: self)
    try FetchExecution(plan, in: self).run(into: &objects)
    let result = objects.finish()
    try prefetch(plan.prefetches, ofFetched: result)
    return result
  }

  /// The name of a request's entity, in reports to observers.
  final func name<Result: ManagedObject>(of request: FetchRequest<Result>) -> String {
    request.entityName ?? (try? entity(for: Result.self))?.name ?? "\(Result.self)"
  }

  /// Returns the number of records that a fetch would return, within its limit and offset.
  ///
  /// Makes no objects. To be called inside the context; the call waits for the store. A store with an exact count
  /// returns no rows, unless predicate or order lead to unsaved records over relationships, or hundreds of saved
  /// records have unsaved changes.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    try operating {
      try reading(request) { plan in
        try count(of: plan)
      }
    }
  }

  /// Returns the number of records that a plan finds, within its range.
  final func count(of plan: FetchPlan) throws -> Int {
    let plan = plan.unordered()
    if let count = try FetchExecution(plan, in: self).storedCount() { return count }
    var counted = CountSink()
    try FetchExecution(plan, in: self).run(into: &counted)
    return counted.count
  }

  /// Makes a group of objects from different reads, so that their relationships are read together.
  final func group(_ objects: [ManagedObject]) {
    let group = storage.groups.make(.fetch)
    for object in objects where !object.recordID.isTemporaryID {
      object.groupNumber = group.number
      object.groupIndex = group.add(object.recordID)
    }
    storage.groups.enter(group)
  }
}

extension [ManagedObject] {
  /// Returns the array as objects of their known class, without a check of the elements.
  func downcast<Object: ManagedObject>(to type: Object.Type) -> [Object] {
    // The plan has checked the class of the entity's objects, and references have one layout for every class.
    return unsafeBitCast(self, to: [Object].self)
  }
}
